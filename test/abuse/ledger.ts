import { readdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import type pg from 'pg';
import { openDatabase } from '../support/database.ts';
import type { Stack } from '../support/stack.ts';
import type { Books } from './ground.ts';

/** The books of a Moli on this machine: audit rows, and which objects there should be. */
export class Ledger implements Books {
  readonly #client: pg.Client;
  readonly #objects: string;

  private constructor(client: pg.Client, objects: string) {
    this.#client = client;
    this.#objects = objects;
  }

  static async open(stack: Stack): Promise<Ledger> {
    const client = await openDatabase(stack);
    return new Ledger(client, join(stack.place.dataDir, 'objects'));
  }

  close(): Promise<void> {
    return this.#client.end();
  }

  /** Audited actions on a target, in order. */
  async audited(target: string): Promise<string[]> {
    const { rows } = await this.#client.query('select action from audit where target = $1 order by at, id', [target]);
    return rows.map(({ action }) => String(action));
  }

  /** Everything that audit says in detail, as one text. */
  async auditText(): Promise<string> {
    const { rows } = await this.#client.query('select actor, action, target, detail::text from audit');
    return JSON.stringify(rows);
  }

  /** Runs without a verdict. */
  async openRuns(): Promise<string[]> {
    const { rows } = await this.#client.query('select id from runs where verdict is null');
    return rows.map(({ id }) => String(id));
  }

  async countRuns(idempotencyKey: string): Promise<number> {
    const { rows } = await this.#client.query('select count(*)::int n from runs where idempotency_key = $1', [
      idempotencyKey,
    ]);
    return rows[0]?.n;
  }

  /** Objects that no row knows, and rows whose object is missing. */
  async strayObjects(): Promise<string[]> {
    const { rows } = await this.#client.query(
      'select object_key from artifacts union all select object_key from files',
    );
    const known = new Set(rows.map(({ object_key }) => String(object_key)));
    const stored = new Set(
      readdirSync(this.#objects, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => relative(this.#objects, join(entry.parentPath, entry.name)))
        .filter((key) => !key.startsWith('.')),
    );
    return [
      ...[...stored].filter((key) => !known.has(key)).map((key) => `stray ${key}`),
      ...[...known].filter((key) => !stored.has(key)).map((key) => `missing ${key}`),
    ];
  }
}
