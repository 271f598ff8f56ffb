import { randomBytes } from 'node:crypto';
import { createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import multipart, { type MultipartFile } from '@fastify/multipart';
import { AppError } from '@moli/errors';
import { acceptFileName } from '@moli/objects';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isId } from '../ids.ts';
import type { FileIntake, Incoming } from './file-intake.ts';
import { sessionNotFound } from './files.errors.ts';
import type { FilesService } from './files.service.ts';

interface Doors {
  readonly files: FilesService;
  readonly intake: FileIntake;
}

/** `POST /v1/files`: one small file in one request, for scripts. The body goes to disk piece by piece. */
export async function registerFileUpload(fastify: FastifyInstance, doors: Doors): Promise<void> {
  await fastify.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    await scope.register(multipart, {
      limits: { files: 1, fields: 4, parts: 6, fieldSize: 256, fileSize: doors.intake.maxBytes },
      throwFileSizeLimit: false,
      // A name with folders is refused, not cut down to its last part.
      preservePath: true,
    });
    scope.route({ method: 'POST', url: '/v1/files', handler: (request, reply) => upload(request, reply, doors) });
  });
}

async function upload(request: FastifyRequest, reply: FastifyReply, doors: Doors): Promise<FastifyReply> {
  const { caller } = request;
  if (!caller) throw new Error('an upload without authentication');
  if (!request.isMultipart()) throw notMultipart();
  const folder = await mkdtemp(join(tmpdir(), 'moli-upload-'));
  try {
    const incoming = await receive(request, folder, doors);
    return await reply.status(201).send(await doors.intake.ingest(caller, incoming));
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function receive(request: FastifyRequest, folder: string, doors: Doors): Promise<Incoming> {
  let part: { name: string; path: string; bytes: number } | undefined;
  let sessionId: string | null = null;
  for await (const field of request.parts()) {
    if (field.type === 'file') part = await spool(field, folder, doors);
    else if (field.fieldname === 'sessionId') sessionId = sessionOf(field.value);
    else throw unknownField(field.fieldname);
  }
  if (!part) throw notMultipart();
  if (sessionId && request.caller) await doors.files.checkSession(request.caller, sessionId);
  return { ...part, sessionId };
}

async function spool(
  field: MultipartFile,
  folder: string,
  doors: Doors,
): Promise<{ name: string; path: string; bytes: number }> {
  if (field.fieldname !== 'file') throw unknownField(field.fieldname);
  const name = acceptFileName(field.filename);
  const path = join(folder, randomBytes(8).toString('hex'));
  const sink = createWriteStream(path, { mode: 0o600 });
  await pipeline(field.file, sink);
  // The parser cuts at the limit and says so; a cut file is never taken as whole.
  doors.intake.checkUpload(name, field.file.truncated ? doors.intake.maxBytes + 1 : sink.bytesWritten);
  return { name, path, bytes: sink.bytesWritten };
}

function sessionOf(value: unknown): string {
  if (!isId('ses', value)) throw sessionNotFound();
  return value;
}

const notMultipart = (): AppError =>
  new AppError('bad_request', {
    zh: '请用 multipart/form-data 发送，文件放在字段 file 里。',
    en: 'Send multipart/form-data with the file in the field “file”.',
  });

const unknownField = (field: string): AppError =>
  new AppError(
    'bad_request',
    {
      zh: `不认识字段“${field.slice(0, 50)}”。可用的字段：file、sessionId。`,
      en: `There is no field “${field.slice(0, 50)}”. The fields are file and sessionId.`,
    },
    { fields: { field: field.slice(0, 50) } },
  );
