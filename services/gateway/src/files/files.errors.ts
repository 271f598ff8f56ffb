import { AppError } from '@moli/errors';

/** The same for an absent and a foreign id. */
export const fileNotFound = (): AppError =>
  new AppError('not_found', {
    zh: '找不到这个文件。它可能已被删除，或属于别的会话。',
    en: 'There is no such file. It may have been deleted, or it belongs to another chat.',
  });

export const sessionNotFound = (): AppError =>
  new AppError('not_found', {
    zh: '找不到这个会话。它可能已被删除。',
    en: 'There is no such chat. It may have been deleted.',
  });
