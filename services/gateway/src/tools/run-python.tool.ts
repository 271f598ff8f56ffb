import type { RunOutcome } from '@moli/queue';
import { Injectable } from '@nestjs/common';
import { RunsService } from '../runs/runs.service.ts';
import { RUN_PYTHON } from './run-python.schema.ts';
import { reportForModel } from './run-report.ts';
import type { ToolContext, ToolDefinition, ToolError, ToolOutput } from './tool.types.ts';

/** Runs Python in the sandbox: the tool behind every data task. */
@Injectable()
export class RunPythonTool {
  readonly definition: ToolDefinition = {
    ...RUN_PYTHON,
    kind: 'builtin',
    permissions: ['read_file', 'write_file', 'run_command'],
    // The limits of the run end it long before; the rest is waiting in the queue.
    flags: { cacheable: false, sideEffects: true, highRisk: false, timeoutSeconds: 300 },
    handler: (args, context) => this.#run(args as { code: string; files?: string[] }, context),
  };

  constructor(private readonly runs: RunsService) {}

  async #run({ code, files }: { code: string; files?: string[] }, context: ToolContext): Promise<ToolOutput> {
    const { caller, sessionId, turnId, callId, signal } = context;
    const { runId } = await this.runs.start(caller, {
      code,
      ...(files && files.length > 0 ? { files: files.map((name) => ({ name })) } : {}),
      ...(sessionId ? { sessionId } : {}),
      ...(turnId ? { turnId } : {}),
      callId,
    });
    context.onRun?.(runId);
    const cancel = () => void this.runs.cancel(caller, runId).catch(() => {});
    signal.addEventListener('abort', cancel, { once: true });
    if (signal.aborted) cancel();
    try {
      const outcome = await this.runs.follow(caller.tenantId, runId, (entry) => context.onRunEntry?.(entry));
      return outputOf(outcome, context);
    } finally {
      signal.removeEventListener('abort', cancel);
    }
  }
}

function outputOf(outcome: RunOutcome, { caller }: ToolContext): ToolOutput {
  const error = errorOf(outcome, caller.locale);
  return {
    content: reportForModel(outcome, caller.locale),
    state: { verdict: outcome.verdict, exitCode: outcome.exitCode, usage: outcome.usage },
    artifacts: outcome.artifacts,
    runId: outcome.runId,
    outcome,
    ...(error ? { error } : {}),
  };
}

/** A program that failed is a failed tool call, although everything about the call went well. */
function errorOf({ verdict, error }: RunOutcome, locale: 'zh' | 'en'): ToolError | undefined {
  if (verdict === 'ok') return undefined;
  if (!error) return { code: verdict, message: VERDICT_WORDS[locale](verdict) };
  return {
    code: verdict,
    message: `${error.name}: ${error.message}`,
    ...(error.line === null ? {} : { line: error.line }),
    ...(error.traceback ? { traceback: error.traceback } : {}),
    explanation: error.explanation,
  };
}

const VERDICT_WORDS = {
  zh: (verdict: string) => `程序没有正常结束（${verdict}）`,
  en: (verdict: string) => `The program did not end well (${verdict})`,
};
