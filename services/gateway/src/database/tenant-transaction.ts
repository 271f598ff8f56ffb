import {
  AbortedTransactionError,
  type Compilable,
  type CompiledQuery,
  type DatabaseConnection,
  DefaultQueryExecutor,
  type Dialect,
  type Driver,
  type QueryResult,
  Transaction,
} from 'kysely';
import type pg from 'pg';
import type { Database } from './schema.ts';

export type TransactionMode = 'read write' | 'read only';

/** What all transactions share. */
export interface TransactionParts {
  readonly dialect: Dialect;
  readonly driver: Driver;
  readonly compiler: ReturnType<Dialect['createQueryCompiler']>;
  readonly adapter: ReturnType<Dialect['createAdapter']>;
}

/** Statements that make no use of each other's answers. */
type Statements = readonly Compilable<unknown>[];
/** The rows of each statement. */
type RowsOf<S extends Statements> = { [K in keyof S]: S[K] extends Compilable<infer Row> ? Row[] : never };

const CHANGES = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE']);

/**
 * The connection of one transaction. A statement is sent at once, also while others wait for their answers; the server takes them in the order in which they
 * were sent.
 */
class TransactionConnection implements DatabaseConnection {
  readonly #client: pg.ClientBase;
  #over = false;
  #failed = false;

  constructor(client: pg.ClientBase) {
    this.#client = client;
  }

  /** Whether a statement is known to have failed; one whose values cannot be sent fails here and leaves the server's transaction as it was. */
  get failed(): boolean {
    return this.#failed;
  }

  async executeQuery<R>({ sql, parameters }: CompiledQuery): Promise<QueryResult<R>> {
    // The client goes back to its pool: a statement from now on would run outside of the transaction.
    if (this.#over) throw new Error('a statement came after the end of its transaction');
    const { command, rowCount, rows } = await this.#send(sql, parameters as unknown[]);
    return CHANGES.has(command) ? { numAffectedRows: BigInt(rowCount ?? 0), rows } : { rows };
  }

  // biome-ignore lint/correctness/useYield: nothing here reads by cursor
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('a transaction of a tenant has no cursors');
  }

  end(): void {
    this.#over = true;
  }

  // biome-ignore lint/suspicious/noExplicitAny: rows of any shape, as pg types them
  #send(sql: string, values: unknown[]): Promise<pg.QueryResult<any>> {
    return new Promise((resolve, reject) => {
      this.#client.query(sql, values, (error, result) => {
        if (!error) return resolve(result);
        this.#failed = true;
        reject(error);
      });
    });
  }
}

/** A transaction that sees one tenant's rows and no others. Stores accept only this type. */
export class TenantTx extends Transaction<Database> {
  readonly #client: pg.ClientBase;
  readonly #connection: TransactionConnection;
  readonly #begun: Promise<unknown>;
  #ended = false;

  private constructor(parts: TransactionParts, client: pg.ClientBase, begun: Promise<unknown>) {
    const connection = new TransactionConnection(client);
    const executor = new DefaultQueryExecutor(parts.compiler, parts.adapter, {
      provideConnection: (consumer) => consumer(connection),
    });
    super({ config: { dialect: parts.dialect }, dialect: parts.dialect, driver: parts.driver, executor });
    this.#client = client;
    this.#connection = connection;
    this.#begun = begun;
  }

  /**
   * Begins on a client of the pool. `tenantId` was checked by the caller: it becomes part of the statement's text, since several statements with parameters
   * cannot travel as one. What follows goes out behind it without waiting; were it to fail, that would see no tenant's rows and fail too.
   */
  static begin(parts: TransactionParts, client: pg.ClientBase, tenantId: string, mode: TransactionMode): TenantTx {
    const begun = client.query(`begin ${mode}; select set_config('app.tenant_id', '${tenantId}', true)`);
    begun.catch(() => {});
    return new TenantTx(parts, client, begun);
  }

  /**
   * The last statements of a transaction, and its commit right behind them: one round trip. Only for statements that need nothing of each other's answers.
   * Answers the rows of each. Nothing can be done with the transaction afterwards.
   */
  async finish<const S extends Statements>(statements: S): Promise<RowsOf<S>> {
    // All are built before the first is sent, and none was refused on the way out: half of them must never be committed.
    const queries = statements.map((statement) => statement.compile());
    const answers = Promise.all(queries.map((query) => this.#connection.executeQuery(query)));
    if (this.#connection.failed) {
      await answers;
      throw new AbortedTransactionError();
    }
    const [results] = await settled([answers, this.commit()]);
    return results.map(({ rows }) => rows) as unknown as RowsOf<S>;
  }

  /** Commits, unless that was done. Rejects when the server rolled back instead, because a statement had failed. */
  async commit(): Promise<void> {
    if (this.#ended) return;
    this.#end();
    const [, { command }] = await settled([this.#begun, this.#client.query('commit')]);
    if (command !== 'COMMIT') throw new AbortedTransactionError();
  }

  /** Rolls back, unless the transaction has ended. Rejects when the connection is no longer usable. */
  async rollback(): Promise<void> {
    if (this.#ended) return;
    this.#end();
    await this.#client.query('rollback');
  }

  #end(): void {
    this.#ended = true;
    this.#connection.end();
  }
}

/** All results, when none is under way any more; otherwise the first failure in this order. */
export async function settled<const P extends readonly Promise<unknown>[]>(
  promises: P,
): Promise<{ -readonly [K in keyof P]: Awaited<P[K]> }> {
  await Promise.allSettled(promises);
  return Promise.all(promises) as Promise<{ -readonly [K in keyof P]: Awaited<P[K]> }>;
}
