import { Readable } from 'node:stream';
import { type ByteRange, entityTag, type OpenObject, requestedRange, type StoredObject } from '@moli/objects';
import { applyDecorators, StreamableFile } from '@nestjs/common';
import { ApiHeader, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';

const BYTES = { '*/*': { schema: { type: 'string', format: 'binary' } } } as const;

/** What the API description says of a route that answers by `sendContent`. */
export const ApiContent = () =>
  applyDecorators(
    ApiHeader({
      name: 'Range',
      required: false,
      description:
        'One range of bytes: `bytes=0-1023`, `bytes=1024-` or the last ones, `bytes=-1024`. Several ranges are answered with all of it.',
    }),
    ApiHeader({
      name: 'If-Range',
      required: false,
      description:
        '`ETag` of the content that the client has begun with; where it is another one now, all of it is sent.',
    }),
    ApiResponse({ status: 200, description: 'All of it; `ETag` is its SHA-256', content: BYTES }),
    ApiResponse({
      status: 206,
      description: 'The range; `Content-Range` says which of how many bytes',
      content: BYTES,
    }),
    ApiResponse({
      status: 416,
      description: 'Problem `range_not_satisfiable`; `Content-Range` says how many bytes there are',
      content: { 'application/problem+json': { schema: { $ref: '#/components/schemas/Problem' } } },
    }),
  );

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
