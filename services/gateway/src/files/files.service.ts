import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { AppError, type Locale } from '@moli/errors';
import { acceptFileName, type ByteRange, type ObjectStore, type OpenObject, objectKey } from '@moli/objects';
import { type AcceptedType, checkUpload, describeFile, describeForModel, type FileDescription } from '@moli/tables';
import { Inject, Injectable } from '@nestjs/common';
import { AuditStore } from '../audit/audit.store.ts';
import type { GatewayConfig } from '../config.ts';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { newId } from '../ids.ts';
import { Metrics } from '../metrics.ts';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { CONFIG, OBJECTS } from '../tokens.ts';
import { acceptedTypes } from './accepted-types.ts';
import { FileTokens } from './file-token.ts';
import { fileNotFound, sessionNotFound } from './files.errors.ts';
import type { File } from './files.schema.ts';
import { type FileRow, FilesStore } from './files.store.ts';

/** A complete upload on this machine's disk, not yet checked. */
export interface Incoming {
  readonly path: string;
  readonly bytes: number;
  readonly name: string;
  readonly sessionId: string | null;
  /** Id of the resumable upload; the same one again is the same file. */
  readonly uploadId?: string;
  /** What the sender says the content's SHA-256 is, lower-case hex. */
  readonly sha256?: string;
}

/** How a run names an input: an id or a token, and the name it gets in the work folder. */
export interface FileReference {
  readonly id?: string;
  readonly token?: string;
  readonly name?: string;
}

/** An input of a run, ready to be signed. */
export interface InputFile {
  readonly id: string;
  readonly name: string;
  readonly bytes: number;
  readonly sha256: string;
  readonly objectKey: string;
}

const view = ({ id, name, bytes, sha256, mime_type, session_id, created_at, description }: FileRow): File => ({
  id,
  name,
  bytes,
  sha256,
  mimeType: mime_type,
  kind: description.kind,
  sessionId: session_id,
  createdAt: created_at.toISOString(),
  ...(description.table ? { table: { ...description.table, columns: [...description.table.columns] } } : {}),
  ...(description.sheets
    ? {
        sheets: description.sheets.map(({ name, hidden, columns, rows }) => ({
          name,
          hidden,
          columns: [...columns],
          rows,
        })),
      }
    : {}),
  notes: [...description.notes],
});

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest('hex');
}

/** Files that people bring: from a finished upload to bytes, description and links. */
@Injectable()
export class FilesService {
  readonly #tokens: FileTokens;
  readonly #types: readonly AcceptedType[];

  constructor(
    @Inject(CONFIG) private readonly config: GatewayConfig,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
    private readonly db: TenantDb,
    private readonly store: FilesStore,
    private readonly sessions: SessionsStore,
    private readonly audit: AuditStore,
    private readonly metrics: Metrics,
  ) {
    this.#tokens = new FileTokens(config.secret);
    this.#types = acceptedTypes(config);
  }

  /** Largest file that is accepted. */
  get maxBytes(): number {
    return this.config.uploadMaxBytes;
  }

  /** What can be known before the content: size and extension. Errors: `file_too_large`, `empty_file`, `unsupported_type`. */
  checkUpload(name: string, bytes: number): void {
    checkUpload({ name, bytes }, { maxBytes: this.config.uploadMaxBytes, types: this.#types });
  }

  /** Whether files may be added to this session: it exists in the caller's tenant and is theirs. Errors: `not_found`. */
  async checkSession(caller: Caller, sessionId: string): Promise<void> {
    await this.db.as(caller.tenantId, (tx) => this.#session(tx, caller, sessionId));
  }

  async #session(tx: TenantTx, caller: Caller, sessionId: string): Promise<void> {
    if (!(await this.sessions.get(tx, caller, sessionId))) throw sessionNotFound();
  }

  /**
   * Takes a complete upload in: name, digest and content are checked, the object is written and read back, then the row appears.
   * Errors: `invalid_name`, `checksum_mismatch`, `unsupported_type`, `unreadable_file`, `empty_file`, `not_found` (session).
   */
  async ingest(caller: Caller, incoming: Incoming): Promise<File> {
    try {
      const file = await this.#take(caller, incoming);
      this.metrics.uploads.inc({ outcome: 'ok' });
      return file;
    } catch (error) {
      this.metrics.uploads.inc({ outcome: error instanceof AppError && !error.retryable ? 'refused' : 'failed' });
      throw error;
    }
  }

  async #take(caller: Caller, incoming: Incoming): Promise<File> {
    const name = acceptFileName(incoming.name);
    this.checkUpload(name, incoming.bytes);
    const before = await this.#finished(caller, incoming.uploadId);
    if (before) return before;
    const sha256 = await digestOf(incoming.path);
    if (incoming.sha256 && incoming.sha256 !== sha256) throw digestDiffers(name);
    const description = await describeFile({ path: incoming.path }, { name, types: this.#types });
    const id = newId('file');
    const key = objectKey(caller.tenantId, 'files', id);
    await this.objects.put(key, createReadStream(incoming.path), { bytes: incoming.bytes, sha256, ifAbsent: true });
    try {
      await this.#confirm(key, incoming.bytes, sha256);
      return await this.#record(caller, incoming, { id, name, sha256, key, description });
    } catch (error) {
      await this.objects.delete(key);
      throw error;
    }
  }

  async #finished(caller: Caller, uploadId: string | undefined): Promise<File | null> {
    if (!uploadId) return null;
    const row = await this.db.as(caller.tenantId, (tx) => this.store.byUpload(tx, uploadId));
    return row && view(row);
  }

  /** The file id of a finished upload, or null: lets a client whose last answer was lost learn it. */
  async finishedUpload(caller: Caller, uploadId: string): Promise<string | null> {
    return (await this.#finished(caller, uploadId))?.id ?? null;
  }

  async #confirm(key: string, bytes: number, sha256: string): Promise<void> {
    const kept = await this.objects.stat(key);
    if (kept?.bytes === bytes && kept.sha256 === sha256) return;
    throw new AppError('unavailable', {
      zh: '文件已上传，但对象存储读回的内容不一致，已放弃保存。请重新上传；若再次发生，请联系管理员检查存储。',
      en: 'The file arrived, but object storage did not give the same content back, so it was not kept. Upload it again; if it happens again, ask an administrator to check the storage.',
    });
  }

  async #record(
    caller: Caller,
    incoming: Incoming,
    made: { id: string; name: string; sha256: string; key: string; description: FileDescription },
  ): Promise<File> {
    const { row, isNew } = await this.db.as(caller.tenantId, async (tx) => {
      if (incoming.sessionId) await this.#session(tx, caller, incoming.sessionId);
      const result = await this.store.insert(tx, {
        id: made.id,
        session_id: incoming.sessionId,
        user_id: caller.userId,
        upload_id: incoming.uploadId ?? null,
        name: made.name,
        bytes: incoming.bytes,
        sha256: made.sha256,
        mime_type: made.description.mimeType,
        object_key: made.key,
        description: made.description,
      });
      if (result.isNew)
        await this.audit.append(tx, caller, {
          action: 'file.create',
          target: result.row.id,
          outcome: 'ok',
          detail: { bytes: incoming.bytes, sha256: made.sha256, mimeType: made.description.mimeType },
        });
      return result;
    });
    if (isNew) this.metrics.uploadBytes.inc(incoming.bytes);
    else await this.objects.delete(made.key);
    return view(row);
  }

  /** Files of one session. Errors: `not_found`. */
  async list(caller: Caller, sessionId: string): Promise<File[]> {
    await this.checkSession(caller, sessionId);
    return this.db.as(caller.tenantId, async (tx) => (await this.store.forSession(tx, sessionId)).map(view));
  }

  /** Errors: `not_found`, the same for an absent and a foreign id. */
  async get(caller: Caller, id: string): Promise<File> {
    return view(await this.#row(caller, id));
  }

  async #row(caller: Caller, id: string): Promise<FileRow> {
    return this.db.as(caller.tenantId, (tx) => this.#visible(tx, caller, id));
  }

  /** A file is as visible as its session; one without a session belongs to who brought it. */
  async #visible(tx: TenantTx, caller: Caller, id: string): Promise<FileRow> {
    const row = await this.store.get(tx, id);
    if (!row) throw fileNotFound();
    const mine = row.session_id
      ? await this.sessions.get(tx, caller, row.session_id)
      : caller.userId === null || row.user_id === null || row.user_id === caller.userId;
    if (!mine) throw fileNotFound();
    return row;
  }

  /** Metadata and bytes. Errors: `not_found`, `bad_request` for a range outside of the file. */
  async open(caller: Caller, id: string, range?: ByteRange): Promise<{ file: File; object: OpenObject }> {
    const row = await this.#row(caller, id);
    return { file: view(row), object: await this.objects.get(row.object_key, range) };
  }

  /** A link and a token for exactly this file, for `expiresInSeconds`. */
  async sign(
    caller: Caller,
    id: string,
    expiresInSeconds: number,
  ): Promise<{ url: string; token: string; expiresAt: string }> {
    const row = await this.#row(caller, id);
    const link = await this.objects.signGet(row.object_key, {
      expiresInSeconds,
      downloadName: row.name,
      contentType: row.mime_type,
    });
    const expires = Math.floor(link.expiresAt.getTime() / 1000);
    const token = this.#tokens.sign({ tenantId: caller.tenantId, fileId: row.id, expires });
    return { url: link.url, token, expiresAt: new Date(expires * 1000).toISOString() };
  }

  /** Deletes row and object; audited. Errors: `not_found`. */
  async remove(caller: Caller, id: string): Promise<void> {
    const row = await this.#row(caller, id);
    await this.db.as(caller.tenantId, async (tx) => {
      if (!(await this.store.delete(tx, id))) throw fileNotFound();
      await this.audit.append(tx, caller, {
        action: 'file.delete',
        target: id,
        outcome: 'ok',
        detail: { sha256: row.sha256 },
      });
    });
    await this.objects.delete(row.object_key);
  }

  /**
   * Inputs of a run. With a session, a file of another session is refused. Errors: `not_found`, `link_invalid` (audited),
   * `conflict` when two inputs would have the same name.
   */
  async resolve(caller: Caller, references: readonly FileReference[], sessionId?: string): Promise<InputFile[]> {
    const ids = await Promise.all(references.map((reference) => this.#identify(caller, reference)));
    const rows = await this.db.as(caller.tenantId, async (tx) => {
      const found: FileRow[] = [];
      for (const id of ids) {
        const row = await this.#visible(tx, caller, id);
        if (sessionId && row.session_id && row.session_id !== sessionId) throw fileNotFound();
        found.push(row);
      }
      return found;
    });
    const inputs = rows.map((row, at) => {
      const asked = references[at]?.name;
      return {
        id: row.id,
        name: asked === undefined ? row.name : acceptFileName(asked),
        bytes: row.bytes,
        sha256: row.sha256,
        objectKey: row.object_key,
      };
    });
    refuseTwins(inputs);
    return inputs;
  }

  async #identify(caller: Caller, { id, token }: FileReference): Promise<string> {
    if (token === undefined) return id ?? '';
    try {
      return this.#tokens.open(token, caller.tenantId);
    } catch (error) {
      await this.db.as(caller.tenantId, (tx) =>
        this.audit.append(tx, caller, { action: 'file.token', outcome: 'refused', detail: {} }),
      );
      throw error;
    }
  }

  /** Rows of a session's files, in the order of their upload. */
  async forSession(tx: TenantTx, sessionId: string): Promise<FileRow[]> {
    return this.store.forSession(tx, sessionId);
  }

  /** Ties files that came with a message to its session. Errors: `not_found`. */
  async adopt(tx: TenantTx, caller: Caller, ids: readonly string[], sessionId: string): Promise<FileRow[]> {
    const rows: FileRow[] = [];
    for (const id of ids) {
      const row = await this.#visible(tx, caller, id);
      if (!(await this.store.adopt(tx, id, sessionId))) throw fileNotFound();
      rows.push({ ...row, session_id: sessionId });
    }
    return rows;
  }

  /** What a model is told of a file: name, size, columns and doubts, at most 4 KiB; never its content. */
  describe({ name, bytes, description }: FileRow, locale: Locale): string {
    return describeForModel({ name, bytes, description }, locale);
  }

  /** Removes the objects of a session's files and says how many; the rows go with the session. */
  async deleteSessionObjects(tenantId: string, sessionId: string): Promise<number> {
    const rows = await this.db.as(tenantId, (tx) => this.store.forSession(tx, sessionId));
    for (const row of rows) await this.objects.delete(row.object_key);
    return rows.length;
  }
}

function digestDiffers(name: string): AppError {
  return new AppError('checksum_mismatch', {
    zh: `“${name}”收到的内容与给出的 SHA-256 不一致，没有保存。请重新上传。`,
    en: `The content received for “${name}” does not match the SHA-256 that was given, so it was not kept. Upload it again.`,
  });
}

/** Names that differ only in case or composition would be one file on other systems; the caller must tell them apart. */
function refuseTwins(inputs: readonly InputFile[]): void {
  const seen = new Set<string>();
  for (const { name } of inputs) {
    const folded = name.normalize('NFC').toLowerCase();
    if (seen.has(folded))
      throw new AppError(
        'conflict',
        {
          zh: `有两个输入文件都叫“${name}”。请用 files[].name 给其中一个另起名字。`,
          en: `Two input files would both be called “${name}”. Give one of them another name with files[].name.`,
        },
        { fields: { name } },
      );
    seen.add(folded);
  }
}
