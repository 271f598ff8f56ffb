import type { RunLimits, RunOutcome, Verdict } from './runs.schema.ts';

/** Why a run ended without its program being at fault. The words are what an operator greps for; people read the explanation. */
export const FAILURES = {
  cancelled: {
    zh: '运行已被停止。',
    en: 'The run was stopped.',
  },
  expired: {
    zh: '排队太久，运行没有开始。代码没有执行，请稍后再试。',
    en: 'The run waited too long and was not started. None of its code ran; try again later.',
  },
  input_altered: {
    zh: '一个输入文件的内容与登记的大小或校验和不符，代码没有执行。请重新上传这个文件。',
    en: 'The content of an input file does not match its recorded size or checksum, so no code ran. Upload the file again.',
  },
  input_unavailable: {
    zh: '无法读取一个输入文件，代码没有执行。请重试；若仍失败，请重新上传这个文件。',
    en: 'An input file could not be read, so no code ran. Try again; if it keeps failing, upload the file again.',
  },
  sandbox_unavailable: {
    zh: '沙箱没有就绪，代码没有执行。请稍后再试；若仍失败，请管理员运行 ./moli doctor。',
    en: 'No sandbox was ready, so no code ran. Try again later; if it keeps failing, an administrator can run ./moli doctor.',
  },
  sandbox_lost: {
    zh: '运行中沙箱意外结束，结果不完整。请再运行一次。',
    en: 'The sandbox ended unexpectedly during the run, so the result is incomplete. Run it again.',
  },
  upload_failed: {
    zh: '代码已执行，但它生成的文件没有保存成功。请再运行一次。',
    en: 'The code ran, but the files it made could not be saved. Run it again.',
  },
  executor_lost: {
    zh: '执行服务意外停止，运行没有完成。请再运行一次。',
    en: 'The executor stopped unexpectedly and the run did not finish. Run it again.',
  },
  executor_stopping: {
    zh: '执行服务正在重启，运行被中断。请再运行一次。',
    en: 'The executor is restarting and the run was cut short. Run it again.',
  },
} as const;
export type Failure = keyof typeof FAILURES;

const VERDICT_OF: Partial<Record<Failure, Verdict>> = { cancelled: 'cancelled', expired: 'queue_rejected' };

/** What a failed run still had to say. */
export type PartialOutcome = Partial<
  Pick<
    RunOutcome,
    'stdout' | 'stderr' | 'raw' | 'truncated' | 'display' | 'artifacts' | 'skipped' | 'usage' | 'timings'
  >
>;

/** The outcome of a run that the platform ended: typed, explained, with whatever was already there. */
export function failedOutcome(
  run: { runId: string; limits: RunLimits; runner: string; sandbox: string },
  failure: Failure,
  partial: PartialOutcome = {},
): RunOutcome {
  const explanation = FAILURES[failure];
  return {
    runId: run.runId,
    verdict: VERDICT_OF[failure] ?? 'platform_error',
    exitCode: null,
    signal: null,
    stdout: '',
    stderr: '',
    truncated: { stdout: false, stderr: false },
    display: [],
    artifacts: [],
    skipped: [],
    error:
      failure === 'cancelled'
        ? null
        : { name: failure, message: explanation.en, line: null, traceback: '', explanation },
    limits: run.limits,
    usage: { wallMs: 0, cpuMs: 0, maxMemoryBytes: 0, outputBytes: 0 },
    timings: { queueMs: 0, claimMs: 0, stageMs: 0, runMs: 0, collectMs: 0 },
    runner: run.runner,
    sandbox: run.sandbox,
    ...partial,
  };
}
