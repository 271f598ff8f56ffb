import type { Locale } from '@moli/errors';
import { AppError } from '@moli/errors';
import type { ByteRange, ObjectStore, OpenObject } from '@moli/objects';
import { Inject, Injectable } from '@nestjs/common';
import { ArtifactsStore } from '../artifacts/artifacts.store.ts';
import { TenantDb } from '../database/tenant-db.ts';
import { FilesService } from '../files/files.service.ts';
import type { Caller } from '../identity/caller.ts';
import { OBJECTS } from '../tokens.ts';

/** A file in the workspace of a session, by the name that programs open it by. */
export interface SessionFile {
  readonly id: string;
  readonly name: string;
  readonly origin: 'uploaded' | 'made';
  readonly bytes: number;
  readonly mimeType: string;
  /** Kind and encoding found on upload; unknown for what a program made. */
  readonly kind?: string;
  readonly encoding?: string | undefined;
  readonly objectKey: string;
  readonly createdAt: Date;
  /** What a model is told of an upload: columns, types, doubts. */
  describe?(locale: Locale): string;
}

/** Files of earlier runs that are looked at, newest first. */
const MADE_LIMIT = 500;

/** The workspace of one session: what was uploaded and what earlier runs made, the newest of each name. Nothing outside of it can be named. */
@Injectable()
export class SessionFiles {
  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(FilesService) private readonly files: FilesService,
    @Inject(ArtifactsStore) private readonly artifacts: ArtifactsStore,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
  ) {}

  /** Oldest first. Errors: `not_found` when the session is not the caller's. */
  async list(caller: Caller, sessionId: string): Promise<SessionFile[]> {
    await this.files.checkSession(caller, sessionId);
    const all = await this.db.as(caller.tenantId, async (tx): Promise<SessionFile[]> => {
      const uploads = await this.files.forSession(tx, sessionId);
      const made = await this.artifacts.filesOfSession(tx, sessionId, MADE_LIMIT);
      return [
        ...uploads.map((row) => ({
          id: row.id,
          name: row.name,
          origin: 'uploaded' as const,
          bytes: row.bytes,
          mimeType: row.mime_type,
          kind: row.description.kind,
          encoding: row.description.encoding ?? row.description.table?.encoding ?? undefined,
          objectKey: row.object_key,
          createdAt: row.created_at,
          describe: (locale: Locale) => this.files.describe(row, locale),
        })),
        ...made.map((row) => ({
          id: row.id,
          name: row.name,
          origin: 'made' as const,
          bytes: row.bytes,
          mimeType: row.mime_type,
          objectKey: row.object_key,
          createdAt: row.created_at,
        })),
      ];
    });
    all.sort((a, b) => a.createdAt.getTime() - b.createdAt.getTime());
    return [...new Map(all.map((file) => [file.name.normalize('NFC'), file])).values()];
  }

  /** The file of exactly this name (in composed form), or `not_found` that says which there are. */
  async find(caller: Caller, sessionId: string, name: string): Promise<SessionFile> {
    const files = await this.list(caller, sessionId);
    const file = byName(files, name);
    if (!file) throw noSuchFile(name, files);
    return file;
  }

  open(file: SessionFile, range?: ByteRange): Promise<OpenObject> {
    return this.objects.get(file.objectKey, range);
  }
}

/** Models write `/mnt/data/x.csv` and `./x.csv` for `x.csv`: the working folder has no other names. Nothing else is taken off. */
export function byName(files: readonly SessionFile[], name: string): SessionFile | undefined {
  const plain = name.normalize('NFC').replace(/^(\/mnt\/data\/|sandbox:\/mnt\/data\/|\.\/)/, '');
  return files.find((file) => file.name.normalize('NFC') === plain);
}

export function noSuchFile(name: string, files: readonly SessionFile[]): AppError {
  const shown = name.slice(0, 120).toWellFormed();
  const names = files.slice(0, 30).map((file) => file.name);
  return new AppError('not_found', {
    zh: `本会话里没有名为“${shown}”的文件。${names.length > 0 ? `现有：${names.join('、')}。` : '本会话还没有任何文件。'}`,
    en: `There is no file named "${shown}" in this session. ${names.length > 0 ? `There are: ${names.join(', ')}.` : 'The session has no files yet.'}`,
  });
}

export function needsSession(tool: string): AppError {
  return new AppError('bad_request', {
    zh: `工具 ${tool} 只能在会话中使用。通过接口调用时请加上 ?sessionId=…。`,
    en: `The tool ${tool} works on the files of a session. When calling it through the API, add ?sessionId=….`,
  });
}
