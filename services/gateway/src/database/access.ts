import type { Database } from './schema.ts';

/** Columns a role may use for each verb; `'*'` is every column. */
interface ColumnGrants {
  readonly select?: readonly string[] | '*';
  readonly insert?: readonly string[] | '*';
  readonly update?: readonly string[] | '*';
  readonly delete?: '*';
}

interface TableAccess {
  /** The column that row-level security compares with the tenant of the transaction; null for the few tables without tenants' rows. */
  readonly tenantColumn: 'tenant_id' | 'id' | null;
  /** moli_app: the pool behind TenantDb. Sees one tenant's rows. */
  readonly app: ColumnGrants;
  /** moli_log: writes the session log and finds work that was left behind, across tenants. Reads no content. */
  readonly log?: ColumnGrants;
  /** moli_auth: finds who is calling before the tenant is known. */
  readonly auth?: ColumnGrants;
}

const ALL: ColumnGrants = { select: '*', insert: '*', update: '*', delete: '*' };

/**
 * Who may do what with each table. The type asks for every table of the schema, so that none can be forgotten; policies and grants are
 * generated from it.
 */
export const ACCESS: Readonly<Record<keyof Database, TableAccess>> = {
  tenants: { tenantColumn: 'id', app: ALL, auth: { select: ['id', 'name'] } },
  members: { tenantColumn: 'tenant_id', app: ALL, auth: { select: ['tenant_id', 'user_id', 'role', 'created_at'] } },
  invitations: {
    tenantColumn: 'tenant_id',
    app: ALL,
    auth: { select: ['tenant_id', 'id', 'email', 'role', 'token_hash', 'expires_at', 'used_at'] },
  },
  api_keys: {
    tenantColumn: 'tenant_id',
    app: ALL,
    auth: { select: ['tenant_id', 'id', 'user_id', 'role', 'hash', 'revoked_at', 'last_used_at'] },
  },
  model_configs: { tenantColumn: 'tenant_id', app: ALL },
  agents: { tenantColumn: 'tenant_id', app: ALL },
  sessions: {
    tenantColumn: 'tenant_id',
    app: ALL,
    log: {
      select: ['id', 'tenant_id', 'next_seq', 'fence', 'owner', 'updated_at'],
      update: ['next_seq', 'fence', 'owner', 'updated_at'],
    },
  },
  events: { tenantColumn: 'tenant_id', app: ALL, log: { insert: '*' } },
  pending_inputs: {
    tenantColumn: 'tenant_id',
    app: ALL,
    log: { select: ['tenant_id', 'session_id', 'id', 'started_at', 'created_at'] },
  },
  files: { tenantColumn: 'tenant_id', app: ALL },
  runs: {
    tenantColumn: 'tenant_id',
    app: ALL,
    log: { select: ['tenant_id', 'id', 'session_id', 'verdict', 'cancel_requested', 'deadline', 'created_at'] },
  },
  artifacts: { tenantColumn: 'tenant_id', app: ALL },
  // Append-only: nobody may change or remove a row.
  audit: { tenantColumn: 'tenant_id', app: { select: '*', insert: '*' } },
  gateways: { tenantColumn: null, app: ALL, log: ALL },
};

const TENANT = "current_setting('app.tenant_id')";

/** Tables of Better Auth, written by moli_auth alone. */
const AUTH_TABLES = ['user', 'session', 'account', 'verification'] as const;

function grants(table: string, role: string, allowed: ColumnGrants | undefined): string[] {
  return Object.entries(allowed ?? {}).map(([verb, columns]) => {
    const list = columns === '*' ? '' : ` (${(columns as readonly string[]).join(', ')})`;
    return `grant ${verb}${list} on ${table} to ${role};`;
  });
}

/** Across tenants a role gets one permissive policy for each verb it was granted. */
function crossTenant(table: string, role: string, allowed: ColumnGrants | undefined): string[] {
  return Object.keys(allowed ?? {}).map((verb) => {
    const using = verb === 'insert' ? '' : ' using (true)';
    const check = verb === 'insert' || verb === 'update' ? ' with check (true)' : '';
    return `create policy ${role}_${verb} on ${table} for ${verb} to ${role}${using}${check};`;
  });
}

function tableAccess(table: string, access: TableAccess): string[] {
  const lines = [`revoke all on ${table} from public, moli_app, moli_log, moli_auth;`];
  if (access.tenantColumn) {
    const own = `${access.tenantColumn} = ${TENANT}`;
    lines.push(
      `alter table ${table} enable row level security;`,
      `alter table ${table} force row level security;`,
      `create policy tenant on ${table} to moli_app using (${own}) with check (${own});`,
      ...crossTenant(table, 'moli_log', access.log),
      ...crossTenant(table, 'moli_auth', access.auth),
    );
  }
  return [
    ...lines,
    ...grants(table, 'moli_app', access.app),
    ...grants(table, 'moli_log', access.log),
    ...grants(table, 'moli_auth', access.auth),
  ];
}

/**
 * Every policy and grant of the database as one script, run by the owner after the migrations. It removes what was there and writes it anew, so
 * it may run at any time, in one transaction.
 */
export function accessSql(): string {
  return [
    `do $$ declare p record; begin
  for p in select schemaname, tablename, policyname from pg_policies where schemaname = 'public' loop
    execute format('drop policy %I on %I.%I', p.policyname, p.schemaname, p.tablename);
  end loop;
end $$;`,
    'grant usage on schema public to moli_app, moli_log, moli_auth;',
    'grant usage on schema auth to moli_app, moli_auth;',
    ...Object.entries(ACCESS).flatMap(([table, access]) => tableAccess(table, access)),
    ...AUTH_TABLES.flatMap((table) => [
      `revoke all on auth."${table}" from public, moli_app, moli_log;`,
      `grant select, insert, update, delete on auth."${table}" to moli_auth;`,
    ]),
    'grant select ("id", "name", "email") on auth."user" to moli_app;',
    'grant select on schema_versions to moli_app, moli_log, moli_auth;',
  ].join('\n');
}
