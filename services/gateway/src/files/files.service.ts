import { AppError, type Locale } from '@moli/errors';
import { acceptFileName, type ByteRange, type ObjectStore, type OpenObject } from '@moli/objects';
import { describeForModel } from '@moli/tables';
import { Inject, Injectable } from '@nestjs/common';
import { AuditStore } from '../audit/audit.store.ts';
import type { GatewayConfig } from '../config.ts';
import { TenantDb, type TenantTx } from '../database/tenant-db.ts';
import type { Caller } from '../identity/caller.ts';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { CONFIG, OBJECTS } from '../tokens.ts';
import { viewOf } from './file.view.ts';
import { FileTokens } from './file-token.ts';
import { fileNotFound, sessionNotFound } from './files.errors.ts';
import type { File } from './files.schema.ts';
import { type FileRow, FilesStore } from './files.store.ts';

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

/** Files that people brought: metadata, bytes, links, and what runs and models get of them. */
@Injectable()
export class FilesService {
  readonly #tokens: FileTokens;

  constructor(
    @Inject(CONFIG) config: GatewayConfig,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
    private readonly db: TenantDb,
    private readonly store: FilesStore,
    private readonly sessions: SessionsStore,
    private readonly audit: AuditStore,
  ) {
    this.#tokens = new FileTokens(config.secret);
  }

  /** Whether files may be added to this session: it exists in the caller's tenant and is theirs. Errors: `not_found`. */
  async checkSession(caller: Caller, sessionId: string): Promise<void> {
    await this.db.as(caller.tenantId, (tx) => this.#session(tx, caller, sessionId));
  }

  async #session(tx: TenantTx, caller: Caller, sessionId: string): Promise<void> {
    if (!(await this.sessions.get(tx, caller, sessionId))) throw sessionNotFound();
  }

  /** Files of one session. Errors: `not_found`. */
  async list(caller: Caller, sessionId: string): Promise<File[]> {
    await this.checkSession(caller, sessionId);
    return this.db.as(caller.tenantId, async (tx) => (await this.store.forSession(tx, sessionId)).map(viewOf));
  }

  /** Errors: `not_found`, the same for an absent and a foreign id. */
  async get(caller: Caller, id: string): Promise<File> {
    return viewOf(await this.find(caller, id));
  }

  /** The row. Errors: `not_found`, the same for an absent and a foreign id. */
  async find(caller: Caller, id: string): Promise<FileRow> {
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

  /** The bytes of a row that `find` answered. Errors: `not_found`, `range_not_satisfiable`. */
  open(row: FileRow, range: ByteRange | undefined): Promise<OpenObject> {
    return this.objects.get(row.object_key, range);
  }

  /** A link and a token for exactly this file, for `expiresInSeconds`. */
  async sign(
    caller: Caller,
    id: string,
    expiresInSeconds: number,
  ): Promise<{ url: string; token: string; expiresAt: string }> {
    const row = await this.find(caller, id);
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
    const row = await this.find(caller, id);
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
