import { Readable } from 'node:stream';
import { type ByteRange, entityTag, type OpenObject, requestedRange, type StoredObject } from '@moli/objects';
import { StreamableFile } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';

export interface ContentOptions {
  /** Size and digest of all of it. */
  readonly stored: Pick<StoredObject, 'bytes' | 'sha256'>;
  readonly type: string;
  /** Value of `Content-Disposition`. */
  readonly disposition: string;
  readonly open: (range: ByteRange | undefined) => Promise<OpenObject>;
}

/** Answers a GET or HEAD for stored bytes: all of them, or the one range asked for. Errors: `range_not_satisfiable` and those of `open`. */
export async function sendContent(
  request: FastifyRequest,
  reply: FastifyReply,
  { stored, type, disposition, open }: ContentOptions,
): Promise<StreamableFile> {
  // RFC 9110: a Range means nothing to HEAD.
  const isHead = request.method === 'HEAD';
  const range = isHead ? undefined : requestedRange(request.headers, stored);
  const { stream, range: sent } = await open(range);
  reply.headers({ 'accept-ranges': 'bytes', etag: entityTag(stored) });
  if (range) reply.status(206).header('content-range', `bytes ${sent.start}-${sent.end}/${stored.bytes}`);
  // Fastify reads the body of a HEAD to its end and drops it: that would be the whole object.
  if (isHead) stream.destroy();
  return new StreamableFile(isHead ? Readable.from([]) : stream, {
    type,
    disposition,
    length: sent.end - sent.start + 1,
  });
}
