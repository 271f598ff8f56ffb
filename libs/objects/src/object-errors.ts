import { AppError } from '@moli/errors';
import type { ByteRange, PutExpectation } from './object-store.ts';

/** Refusals that both stores word alike. */
export function objectNotFound(key: string): AppError {
  return new AppError('not_found', {
    zh: `对象 ${key} 不存在，可能已被删除。`,
    en: `There is no object ${key}; it may have been deleted.`,
  });
}

export function keyTaken(key: string): AppError {
  return new AppError('conflict', {
    zh: `键 ${key} 已有内容，没有覆盖。请换一个键，或先删除原来的对象。`,
    en: `The key ${key} is taken; nothing was overwritten. Use another key, or delete what is there first.`,
  });
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
  return new AppError('checksum_mismatch', {
    zh: `存储中的对象 ${key} 已被改动或损坏，与写入时的校验和不符。请重新上传，或由管理员从备份恢复。`,
    en: `The stored object ${key} was changed or damaged: it does not match the checksum taken when it was written. Upload it again, or have an administrator restore it from a backup.`,
  });
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
