import type { RunOutcome } from '@moli/queue';
import { Inject, Injectable } from '@nestjs/common';
import type { FileReference } from '../files/files.service.ts';
import { isId } from '../ids.ts';
import { RunsService } from '../runs/runs.service.ts';
import { RUN_PYTHON } from './run-python.schema.ts';
import { reportForModel } from './run-report.ts';
import { byName, noSuchFile, SessionFiles } from './session-files.ts';
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

  constructor(
    @Inject(RunsService) private readonly runs: RunsService,
    @Inject(SessionFiles) private readonly files: SessionFiles,
  ) {}

  async #run({ code, files }: { code: string; files?: string[] }, context: ToolContext): Promise<ToolOutput> {
    const { caller, sessionId, turnId, callId, signal } = context;
    const inputs = files && files.length > 0 ? await this.#inputs(files, context) : undefined;
    const { runId } = await this.runs.start(caller, {
      code,
      ...(inputs ? { files: inputs } : {}),
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

  /** Names of the session's files (or ids, for programs) as references. What earlier runs made is in the working folder anyway. */
  async #inputs(names: readonly string[], { caller, sessionId }: ToolContext): Promise<FileReference[]> {
    const ids = names.filter((name) => isId('file', name));
    const rest = names.filter((name) => !isId('file', name));
    const known = sessionId ? await this.files.list(caller, sessionId) : [];
    const found = rest.map((name) => {
      const file = byName(known, name);
      if (!file) throw noSuchFile(name, known);
      return file;
    });
    const uploads = found.filter((file) => file.origin === 'uploaded').map(({ id, name }) => ({ id, name }));
    return [...ids.map((id) => ({ id })), ...uploads];
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
