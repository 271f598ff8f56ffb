import { Inject, Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import type { Database, Role } from '../database/schema.ts';
import { AUTH_DB } from '../tokens.ts';
import { hashPassword, verifyPassword } from './passwords.ts';
import { PEOPLE } from './people.token.ts';
import type { People } from './people.ts';

export interface User {
  readonly id: string;
  readonly email: string;
  readonly name: string;
}

export interface Membership {
  readonly tenantId: string;
  readonly tenantName: string;
  readonly role: Role;
}

/** People and their memberships, as role moli_auth: before a tenant is chosen. */
@Injectable()
export class UsersStore {
  constructor(
    @Inject(AUTH_DB) private readonly db: Kysely<Database>,
    @Inject(PEOPLE) private readonly people: People,
  ) {}

  async findByEmail(email: string): Promise<User | undefined> {
    const { rows } =
      await sql<User>`select id, email, name from auth."user" where email = ${email.toLowerCase()}`.execute(this.db);
    return rows[0];
  }

  async findById(id: string): Promise<User | undefined> {
    const { rows } = await sql<User>`select id, email, name from auth."user" where id = ${id}`.execute(this.db);
    return rows[0];
  }

  /** People by id, in no order. Ids that belong to nobody are left out. */
  async findAll(ids: readonly string[]): Promise<User[]> {
    const { rows } = await sql<User>`select id, email, name from auth."user" where id = any(${[...ids]})`.execute(
      this.db,
    );
    return rows;
  }

  /** Oldest membership first: the first is the one a person works in when the request names none. */
  async memberships(userId: string): Promise<Membership[]> {
    const rows = await this.db
      .selectFrom('members')
      .innerJoin('tenants', 'tenants.id', 'members.tenant_id')
      .select(['tenants.id as tenantId', 'tenants.name as tenantName', 'members.role'])
      .where('members.user_id', '=', userId)
      .orderBy('members.created_at')
      .orderBy('tenants.id')
      .execute();
    return rows;
  }

  /** A person without a password; they get in by a one-time link. */
  async create(email: string, name: string): Promise<User> {
    const { internalAdapter } = await this.people.auth.$context;
    const user = await internalAdapter.createUser(
      { email: email.toLowerCase(), name, emailVerified: true },
      { method: 'admin' },
    );
    return { id: user.id, email: user.email, name: user.name };
  }

  async hasPassword(userId: string): Promise<boolean> {
    return (await this.#passwordHash(userId)) !== null;
  }

  async checkPassword(userId: string, password: string): Promise<boolean> {
    const hash = await this.#passwordHash(userId);
    return hash !== null && verifyPassword({ hash, password });
  }

  async setPassword(userId: string, password: string): Promise<void> {
    const { internalAdapter } = await this.people.auth.$context;
    const hash = await hashPassword(password);
    if (await this.#hasCredential(userId)) await internalAdapter.updatePassword(userId, hash);
    else await internalAdapter.linkAccount({ userId, providerId: 'credential', accountId: userId, password: hash });
  }

  /** Ends every session of a person but the one with this token. Returns how many ended. */
  async endSessions(userId: string, exceptToken: string | null): Promise<number> {
    const result =
      await sql`delete from auth."session" where "userId" = ${userId} and token is distinct from ${exceptToken}`.execute(
        this.db,
      );
    return Number(result.numAffectedRows ?? 0);
  }

  /** Removes sessions and one-time tokens that ended before `now`; Better Auth itself only stops accepting them. Answers how many. */
  async deleteExpired(now: Date): Promise<number> {
    const sessions = await sql`delete from auth."session" where "expiresAt" < ${now}`.execute(this.db);
    const tokens = await sql`delete from auth."verification" where "expiresAt" < ${now}`.execute(this.db);
    return Number(sessions.numAffectedRows ?? 0) + Number(tokens.numAffectedRows ?? 0);
  }

  async #passwordHash(userId: string): Promise<string | null> {
    const { rows } = await sql<{ password: string | null }>`
      select password from auth."account" where "userId" = ${userId} and "providerId" = 'credential'`.execute(this.db);
    return rows[0]?.password ?? null;
  }

  async #hasCredential(userId: string): Promise<boolean> {
    const { rows } =
      await sql`select 1 from auth."account" where "userId" = ${userId} and "providerId" = 'credential'`.execute(
        this.db,
      );
    return rows.length > 0;
  }
}
