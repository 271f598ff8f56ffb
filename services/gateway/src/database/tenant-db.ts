import { PostgresDialect } from 'kysely';
import type pg from 'pg';
import { settled, TenantTx, type TransactionMode, type TransactionParts } from './tenant-transaction.ts';

export { TenantTx };

const TENANT_ID = /^ten_[0-9a-f]{32}$/;

/** The one door to tenants' rows: opens a transaction as role moli_app and sets the tenant that row-level security compares with. */
export class TenantDb {
  readonly #pool: pg.Pool;
  readonly #parts: TransactionParts;

  /** `pool` sends statements without waiting for the answers before them (`pipeline`). */
  constructor(pool: pg.Pool) {
    const dialect = new PostgresDialect({ pool });
    this.#pool = pool;
    this.#parts = {
      dialect,
      driver: dialect.createDriver(),
      compiler: dialect.createQueryCompiler(),
      adapter: dialect.createAdapter(),
    };
  }

  /** Commits when `work` resolves and rolls back when it rejects. Statements that `work` does not await one by one share a round trip. */
  as<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#within(tenantId, 'read write', async (tx) => {
      const result = await work(tx);
      await tx.commit();
      return result;
    });
  }

  /**
   * Reads whose statements are all sent before `work` awaits anything, such as `Promise.all` of several reads: they, begin and commit are one round trip. A
   * statement that comes later is refused.
   */
  read<T>(tenantId: string, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    return this.#within(tenantId, 'read only', async (tx) => {
      const [result] = await settled([work(tx), tx.commit()]);
      return result;
    });
  }

  async #within<T>(tenantId: string, mode: TransactionMode, work: (tx: TenantTx) => Promise<T>): Promise<T> {
    if (!TENANT_ID.test(tenantId)) throw new Error('tenant id missing or malformed');
    const client = await this.#pool.connect();
    try {
      const tx = TenantTx.begin(this.#parts, client, tenantId, mode);
      try {
        return await work(tx);
      } catch (error) {
        await tx.rollback().catch(() => {});
        throw error;
      }
    } finally {
      // A connection that broke, or is still in a transaction for whatever reason, is not used again.
      client.release(client.getTransactionStatus() !== 'I');
    }
  }
}
