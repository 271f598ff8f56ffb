import { AppError } from '@moli/errors';
import type { ByteRange, PutExpectation } from './object-store.ts';

/** Refusals that both stores word alike. They reach people: keys, which are ours alone, are in the cause, for the log. */
export function objectNotFound(key: string): AppError {
  return new AppError(
    'not_found',
    {
      zh: '存储中没有这份内容，它可能已被删除，或还没有写完。',
      en: 'The content is not in the store; it may have been deleted, or is not complete yet.',
    },
    { cause: new Error(`there is no object ${key}`) },
  );
}

export function keyTaken(key: string): AppError {
  return new AppError(
    'conflict',
    {
      zh: '存储中的这个位置已有内容，没有覆盖。',
      en: 'There is content in this place of the store already; nothing was overwritten.',
    },
    { cause: new Error(`the key ${key} is taken`) },
  );
}

/** The body that came is not what the caller announced. */
export function contentDiffers(got: string, expected: PutExpectation): AppError {
  const want = [
    expected.bytes !== undefined && `${expected.bytes} bytes`,
    expected.sha256 && `SHA-256 ${expected.sha256}`,
  ];
  const wanted = want.filter(Boolean).join(', ');
  return new AppError('checksum_mismatch', {
    zh: `收到的内容（${got}）与声明的（${wanted}）不符，什么都没有保存。请重新发送整个文件。`,
    en: `The content that arrived (${got}) is not what was announced (${wanted}); nothing was kept. Send the whole file again.`,
  });
}

/** What lies in the store is not what was written there. */
export function objectAltered(key: string): AppError {
  return new AppError(
    'checksum_mismatch',
    {
      zh: '存储中的内容已被改动或损坏，与写入时的校验和不符。请重新上传，或由管理员从备份恢复。',
      en: 'The stored content was changed or damaged: it does not match the checksum taken when it was written. Upload it again, or have an administrator restore it from a backup.',
    },
    { cause: new Error(`the object ${key} does not match its checksum`) },
  );
}

/** The positions that a range means in an object of `bytes`. Errors: `range_not_satisfiable` for one outside of it. */
export function boundedRange(range: ByteRange | undefined, bytes: number): { start: number; end: number } {
  if (!range) return { start: 0, end: bytes - 1 };
  const end = Math.min(range.end ?? bytes - 1, bytes - 1);
  if (Number.isInteger(range.start) && Number.isInteger(end) && range.start >= 0 && range.start <= end) {
    return { start: range.start, end };
  }
  const asked = `${range.start}–${range.end ?? ''}`;
  throw new AppError(
    'range_not_satisfiable',
    {
      zh: `内容共 ${bytes} 字节，所要的范围 ${asked} 不在其中。请从 0 起、在长度以内选择范围，或不带 Range 读取全部。`,
      en: `The content has ${bytes} bytes; the range ${asked} is not in it. Ask for positions from 0 to below that length, or leave Range out to get all of it.`,
    },
    { fields: { bytes } },
  );
}
