import { AppError } from '@moli/errors';

/** The same for an absent upload and one that somebody else began. */
export const uploadNotFound = (): AppError =>
  new AppError('not_found', {
    zh: '找不到这个上传。它可能已完成、已过期或已取消，请重新上传文件。',
    en: 'There is no such upload. It may be finished, expired or cancelled; upload the file again.',
  });

/** What the tus library itself refuses, by its status, in our words. `reason` is its own text. */
export function refusalOf(status: number, reason: string): AppError {
  if (status === 404) return uploadNotFound();
  if (status === 410)
    return new AppError('upload_expired', {
      zh: '这次上传放得太久，已过期。请重新上传文件。',
      en: 'This upload was left for too long and has expired. Upload the file again.',
    });
  if (status === 409 || status === 423)
    return new AppError('conflict', {
      zh: '上传的位置与服务器上的不一致，可能另一个窗口也在传。请先查询进度（HEAD），再从那里继续。',
      en: 'The offset differs from what the server has; another window may be sending too. Ask for the offset (HEAD) and go on from there.',
    });
  if (status === 413)
    return new AppError('file_too_large', {
      zh: '收到的内容比声明的更长，已拒绝。请重新上传。',
      en: 'More bytes came than were announced, so the upload was refused. Start it again.',
    });
  if (status >= 500)
    return new AppError(
      'unavailable',
      {
        zh: '上传中途出错，已收到的部分还在。请继续上传。',
        en: 'The upload failed on the way; what has arrived is kept. Go on with it.',
      },
      { retryAfterSeconds: 1 },
    );
  return new AppError(
    'bad_request',
    {
      zh: '上传请求不符合 tus 1.0 协议，请检查请求头。',
      en: 'The upload request is not in the tus 1.0 protocol; look at its headers.',
    },
    { fields: { reason: reason.trim().slice(0, 200) } },
  );
}
