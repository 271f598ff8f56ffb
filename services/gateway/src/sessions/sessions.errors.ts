import { AppError } from '@moli/errors';

/** The same for an absent and a foreign id. */
export const sessionNotFound = (): AppError =>
  new AppError('not_found', {
    zh: '找不到这个会话，可能已被删除。请在左侧列表中另选一个。',
    en: 'There is no such session; it may have been deleted. Choose another one from the list.',
  });

export const messageNotFound = (): AppError =>
  new AppError('not_found', {
    zh: '这个会话里找不到这条消息。请刷新后再试。',
    en: 'There is no such message in this session. Reload and try again.',
  });

export const turnRunning = (): AppError =>
  new AppError(
    'turn_running',
    {
      zh: '上一轮还没结束。请等它结束，或先点“停止”。',
      en: 'The previous turn is still running. Wait for its end, or stop it first.',
    },
    { retryAfterSeconds: 2 },
  );
