import { AppError } from '@moli/errors';

/** The same for an absent and a foreign id. */
export const runNotFound = (): AppError =>
  new AppError('not_found', {
    zh: '找不到这次运行。它可能已随会话删除。',
    en: 'There is no such run. It may have been deleted with its chat.',
  });

/** `limit` and `used` count runs that wait or run now, in the whole installation. */
export const queueFull = (limit: number, used: number): AppError =>
  new AppError(
    'queue_full',
    {
      zh: `排队已满：现有 ${used} 个运行，上限 ${limit} 个。代码没有执行，请稍后再试。`,
      en: `The queue is full: ${used} runs of at most ${limit}. None of the code ran; try again a little later.`,
    },
    { fields: { limit, used }, retryAfterSeconds: 5 },
  );

/** `used` counts the tenant's own runs that wait or run now: as many as there are places left for everybody. */
export const shareFull = (used: number): AppError =>
  new AppError(
    'queue_full',
    {
      zh: `你的团队已有 ${used} 个运行在排队或执行，用满了一个团队可占的份额，其余位置留给其他团队。代码没有执行，请等一些运行结束后再试。`,
      en: `Your team has ${used} runs that wait or run, which is all that one team may take: the other places are kept for other teams. None of the code ran; try again when some have ended.`,
    },
    { fields: { used }, retryAfterSeconds: 5 },
  );

export const otherRequest = (): AppError =>
  new AppError('conflict', {
    zh: '这个 idempotencyKey 已用于另一段代码。请为新的请求换一个键。',
    en: 'This idempotencyKey was used for other code. Use a new key for a new request.',
  });

export const notQueued = (cause: unknown): AppError =>
  new AppError(
    'unavailable',
    {
      zh: '任务没有进入队列，代码没有执行。请稍后再试。',
      en: 'The run could not be queued and none of its code ran. Try again shortly.',
    },
    { cause, retryAfterSeconds: 2 },
  );
