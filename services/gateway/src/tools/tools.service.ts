import { AppError, type Locale, toAppError } from '@moli/errors';
import type { RunStreamEntry } from '@moli/queue';
import { Inject, Injectable } from '@nestjs/common';
import type { Caller } from '../identity/caller.ts';
import { Metrics } from '../metrics.ts';
import { type ArgumentFault, argumentsError } from './argument-faults.ts';
import { checkArguments } from './arguments.ts';
import type { ToolContext, ToolDefinition, ToolOutput, ToolResult } from './tool.types.ts';
import { ToolRegistry } from './tool-registry.ts';

export interface ToolCallRequest {
  readonly name: string;
  /** As the model wrote them, or an object from a program. */
  readonly rawArguments: string | object;
  /** What was offered with this request; anything else is refused, known or not. */
  readonly offered: readonly Pick<ToolDefinition, 'name'>[];
  readonly callId: string;
  readonly signal: AbortSignal;
  readonly sessionId?: string | undefined;
  readonly turnId?: string | undefined;
  readonly onRunEntry?: ((entry: RunStreamEntry) => void) | undefined;
  readonly onRun?: ((runId: string) => void) | undefined;
  /** Told once, before the handler starts, with the arguments as it gets them and the tool's own name. */
  readonly onArguments?: ((args: Readonly<Record<string, unknown>>, name: string) => void) | undefined;
}

/** The one door to every tool. No path to a handler goes around `call`. */
@Injectable()
export class ToolsService {
  constructor(
    @Inject(ToolRegistry) private readonly registry: ToolRegistry,
    @Inject(Metrics) private readonly metrics: Metrics,
  ) {}

  /** Tools that an agent may use, in the registry's order; without an agent, all of the tenant's. */
  offered(_caller: Caller, agent?: { readonly tools: readonly string[] }): ToolDefinition[] {
    const all = this.registry.all();
    if (!agent) return [...all];
    const allowed = new Set(agent.tools.map((name) => this.registry.find(name)?.name));
    return all.filter((tool) => allowed.has(tool.name));
  }

  /** Whether a name is that of a tool; for checking the settings of an agent. */
  has(name: string): boolean {
    return this.registry.find(name) !== undefined;
  }

  /** Name, alias → the tool's own name; unknown names as they are. For the trace, before a call. */
  nameOf(name: string): string {
    return this.registry.find(name)?.name ?? name;
  }

  /**
   * Calls a tool: known and offered → schema → handler. Never throws for what goes wrong with the tool: the envelope says it, in words
   * that a model can act on. `error.code` is `unknown_tool`, `bad_arguments` (with `issues`), a verdict, or a code of the error table.
   */
  async call(caller: Caller, request: ToolCallRequest): Promise<ToolResult> {
    const started = performance.now();
    const done = (
      result: Omit<ToolResult, 'durationMs' | 'cached' | 'artifacts'> & Partial<ToolResult>,
    ): ToolResult => ({
      artifacts: [],
      cached: false,
      ...result,
      durationMs: Math.round((performance.now() - started) * 10) / 10,
    });
    const tool = this.registry.find(request.name);
    if (!tool || !request.offered.some(({ name }) => name === tool.name)) {
      this.metrics.toolCalls.inc({ tool: 'unknown', outcome: 'refused' });
      return done(unknownTool(request.name, request.offered, caller.locale));
    }
    const checked = checkArguments(request.rawArguments, tool);
    if ('faults' in checked) {
      this.metrics.toolCalls.inc({ tool: tool.name, outcome: 'bad_arguments' });
      return done(badArguments(tool, checked.faults, caller.locale));
    }
    request.onArguments?.(checked.value, tool.name);
    const result = done({ ...(await this.#handle(tool, checked.value, caller, request)), arguments: checked.value });
    this.metrics.toolCalls.inc({ tool: tool.name, outcome: result.ok ? 'ok' : 'failed' });
    this.metrics.toolSeconds.observe({ tool: tool.name }, (performance.now() - started) / 1000);
    return result;
  }

  async #handle(
    tool: ToolDefinition,
    args: Readonly<Record<string, unknown>>,
    caller: Caller,
    request: ToolCallRequest,
  ): Promise<Omit<ToolResult, 'durationMs' | 'cached' | 'artifacts'> & { artifacts?: ToolResult['artifacts'] }> {
    const timeout = AbortSignal.timeout(tool.flags.timeoutSeconds * 1000);
    const context: ToolContext = {
      caller,
      sessionId: request.sessionId,
      turnId: request.turnId,
      callId: request.callId,
      signal: AbortSignal.any([request.signal, timeout]),
      onRunEntry: request.onRunEntry,
      onRun: request.onRun,
    };
    try {
      return envelope(await Promise.race([tool.handler(args, context), givenUp(timeout, tool)]));
    } catch (thrown) {
      return failed(thrown, caller.locale);
    }
  }
}

function envelope({ error, ...output }: ToolOutput): ReturnType<typeof failed> {
  return { ok: error === undefined, ...output, ...(error ? { error } : {}) };
}

type Failure = Omit<ToolResult, 'durationMs' | 'cached' | 'artifacts'> & { artifacts?: ToolResult['artifacts'] };

function failed(thrown: unknown, locale: Locale): Failure {
  const error: AppError = toAppError(thrown);
  const message = error.detail[locale];
  return {
    ok: false,
    content: `The tool failed: ${message}`,
    error: { code: error.code, message, explanation: error.detail },
  };
}

/** Rejects when the tool's time is over, whether its handler listens or not. */
function givenUp(timeout: AbortSignal, { name, flags }: ToolDefinition): Promise<never> {
  return new Promise((_, reject) => {
    const late = () =>
      reject(
        new AppError('unavailable', {
          zh: `工具 ${name} 在 ${flags.timeoutSeconds} 秒内没有完成，已放弃。请稍后重试。`,
          en: `The tool ${name} did not finish within ${flags.timeoutSeconds} s and was given up. Try again later.`,
        }),
      );
    if (timeout.aborted) late();
    else timeout.addEventListener('abort', late, { once: true });
  });
}

function unknownTool(name: string, offered: readonly { readonly name: string }[], locale: Locale): Failure {
  const shown = name.slice(0, 64).toWellFormed();
  const names = offered.map((tool) => tool.name).join(', ');
  const message = locale === 'zh' ? `没有名为“${shown}”的工具。` : `There is no tool named "${shown}".`;
  return {
    ok: false,
    content: `There is no tool named "${shown}". ${names ? `You have: ${names}.` : 'You have no tools; answer in words.'}`,
    error: { code: 'unknown_tool', message },
  };
}

function badArguments(tool: ToolDefinition, faults: readonly ArgumentFault[], locale: Locale): Failure {
  const lines = faults.map(({ path, words }) => `- ${path === '' ? 'the input' : path} ${words.en}`).join('\n');
  return {
    ok: false,
    content: `Nothing was run: the arguments of ${tool.name} are not right.\n${lines}\nCall it again with corrected arguments. Its parameters: ${JSON.stringify(tool.parameters)}`,
    error: argumentsError(tool.name, faults, locale),
  };
}
