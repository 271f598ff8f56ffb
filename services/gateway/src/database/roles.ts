import pg from 'pg';

/** Connection URLs of the three roles that serve requests. */
export interface RoleUrls {
  readonly app: string;
  readonly log: string;
  readonly auth: string;
}

/** Role names are fixed: policies and grants name them. */
const ROLE_OF: Readonly<Record<keyof RoleUrls, string>> = { app: 'moli_app', log: 'moli_log', auth: 'moli_auth' };

const ATTRIBUTES = 'nosuperuser nobypassrls nocreatedb nocreaterole noreplication inherit';

/** Two databases of one server migrated at once (tests do it) meet in the server-wide catalogue of roles. */
const RACES = new Set(['23505', '42710', 'XX000']);

async function toleratingRaces(work: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await work();
      return;
    } catch (error) {
      if (!RACES.has((error as { code?: string }).code ?? '') || attempt === 5) throw error;
    }
  }
}

function credentials(url: string, role: string): { password: string } {
  const parsed = new URL(url);
  if (decodeURIComponent(parsed.username) !== role) {
    throw new Error(`the connection URL of ${role} names the user "${decodeURIComponent(parsed.username)}"`);
  }
  return { password: decodeURIComponent(parsed.password) };
}

/** Whether the role exists and lets us in with the password of its URL. */
async function canConnect(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, application_name: 'moli-migrate' });
  try {
    await client.connect();
    return true;
  } catch (error) {
    // Unknown role or wrong password; anything else (server gone) will fail again with a better message.
    if (['28P01', '28000', '42501'].includes((error as { code?: string }).code ?? '')) return false;
    throw error;
  } finally {
    await client.end().catch(() => {});
  }
}

async function exists(client: pg.ClientBase, role: string): Promise<boolean> {
  const { rowCount } = await client.query('select 1 from pg_roles where rolname = $1', [role]);
  return rowCount === 1;
}

async function ensureLogin(client: pg.ClientBase, role: string, url: string): Promise<void> {
  if (await canConnect(url)) return;
  const password = pg.escapeLiteral(credentials(url, role).password);
  await toleratingRaces(async () => {
    const verb = (await exists(client, role)) ? 'alter' : 'create';
    await client.query(`${verb} role ${role} login password ${password} ${ATTRIBUTES}`);
  });
}

async function ensureOwner(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ me: string; super: boolean }>(
    'select current_user as me, rolsuper as super from pg_roles where rolname = current_user',
  );
  if (rows[0]?.me === 'moli_owner') return;
  await toleratingRaces(async () => {
    if (!(await exists(client, 'moli_owner'))) await client.query(`create role moli_owner nologin ${ATTRIBUTES}`);
  });
  if (!rows[0]?.super) await toleratingRaces(() => client.query('grant moli_owner to current_user'));
  await client.query('grant create, usage on schema public to moli_owner');
}

/**
 * Makes the roles that are missing and gives them the passwords of their URLs when they cannot sign in with them. moli_owner owns the tables and
 * never serves requests.
 */
export async function ensureRoles(client: pg.ClientBase, urls: RoleUrls): Promise<void> {
  for (const kind of ['app', 'log', 'auth'] as const) credentials(urls[kind], ROLE_OF[kind]);
  await ensureOwner(client);
  for (const kind of ['app', 'log', 'auth'] as const) await ensureLogin(client, ROLE_OF[kind], urls[kind]);
  await client.query('create schema if not exists auth authorization moli_owner');
}

/**
 * Refuses roles that row-level security does not bind: a superuser or BYPASSRLS role skips every policy silently, and so would a bug in a query.
 */
export async function assertBoundRole(db: Pick<pg.Pool, 'query'>, expected: string): Promise<void> {
  const { rows } = await db.query<{ name: string; unbound: boolean }>(
    'select rolname as name, rolsuper or rolbypassrls as unbound from pg_roles where rolname = current_user',
  );
  const role = rows[0];
  if (role?.name !== expected) throw new Error(`connected as ${role?.name ?? 'an unknown role'}, not as ${expected}`);
  if (role.unbound)
    throw new Error(`role ${expected} is a superuser or has BYPASSRLS: row-level security would not bind it`);
}
