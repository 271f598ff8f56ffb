-- Tables of the gateway. Every row belongs to a tenant; row-level security is on and forced everywhere.
-- Roles are made by the migrator before this runs: moli_owner, moli_app, moli_log, moli_auth.

create table tenants (
  id text primary key,
  name text not null,
  created_at timestamptz not null default now()
);

create table members (
  tenant_id text not null default current_setting('app.tenant_id') references tenants (id) on delete cascade,
  user_id text not null,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  created_at timestamptz not null default now(),
  primary key (tenant_id, user_id)
);
create index members_user on members (user_id);

create table invitations (
  tenant_id text not null default current_setting('app.tenant_id') references tenants (id) on delete cascade,
  id text not null,
  email text not null,
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  token_hash bytea not null unique,
  expires_at timestamptz not null,
  used_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);

create table api_keys (
  tenant_id text not null default current_setting('app.tenant_id') references tenants (id) on delete cascade,
  id text not null,
  user_id text,
  -- What the key may do at most; a key of a person never does more than that person.
  role text not null check (role in ('owner', 'admin', 'member', 'viewer')),
  name text not null,
  hash bytea not null unique,
  prefix text not null,
  created_at timestamptz not null default now(),
  last_used_at timestamptz,
  revoked_at timestamptz,
  primary key (tenant_id, id)
);

create table model_configs (
  tenant_id text not null default current_setting('app.tenant_id') references tenants (id) on delete cascade,
  id text not null,
  name text not null,
  base_url text not null,
  model text not null,
  key_sealed bytea,
  context_tokens integer not null default 32000,
  is_default boolean not null default false,
  scripted boolean not null default false,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);
create unique index model_configs_default on model_configs (tenant_id) where is_default;

create table agents (
  tenant_id text not null default current_setting('app.tenant_id') references tenants (id) on delete cascade,
  id text not null,
  name text not null,
  avatar text,
  system_prompt text not null default '',
  routing jsonb not null,
  tools jsonb not null,
  context jsonb not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id)
);

create table sessions (
  tenant_id text not null default current_setting('app.tenant_id') references tenants (id) on delete cascade,
  id text not null unique,
  agent_id text not null,
  user_id text,
  title text not null default '',
  next_seq bigint not null default 1,
  -- Raised whenever a writer takes or loses the session; a flush with an old fence is refused.
  fence bigint not null default 0,
  -- The gateway whose turn is running, or null.
  owner uuid,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, agent_id) references agents (tenant_id, id)
);
create index sessions_list on sessions (tenant_id, updated_at desc, id desc);
create index sessions_owner on sessions (owner) where owner is not null;

create table events (
  tenant_id text not null default current_setting('app.tenant_id'),
  session_id text not null,
  seq bigint not null,
  type text not null,
  turn_id text,
  message_id text,
  at timestamptz not null default clock_timestamp(),
  data jsonb not null,
  primary key (tenant_id, session_id, seq),
  foreign key (tenant_id, session_id) references sessions (tenant_id, id) on delete cascade
);

-- Accepted messages whose turn has not started; taken in order by the session's writer.
create table pending_inputs (
  tenant_id text not null default current_setting('app.tenant_id'),
  session_id text not null,
  id bigint generated always as identity,
  client_message_id text,
  answer jsonb not null,
  input jsonb not null,
  started_at timestamptz,
  created_at timestamptz not null default now(),
  primary key (tenant_id, session_id, id),
  foreign key (tenant_id, session_id) references sessions (tenant_id, id) on delete cascade
);
create unique index pending_inputs_once on pending_inputs (tenant_id, session_id, client_message_id);

create table files (
  tenant_id text not null default current_setting('app.tenant_id') references tenants (id) on delete cascade,
  id text not null,
  session_id text,
  user_id text,
  upload_id text,
  name text not null,
  bytes bigint not null,
  sha256 text not null,
  mime_type text not null,
  object_key text not null,
  description jsonb not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, session_id) references sessions (tenant_id, id) on delete cascade
);
create unique index files_upload on files (tenant_id, upload_id);
create index files_session on files (tenant_id, session_id);

create table runs (
  tenant_id text not null default current_setting('app.tenant_id') references tenants (id) on delete cascade,
  id text not null,
  session_id text,
  turn_id text,
  call_id text,
  user_id text,
  idempotency_key text,
  rerun_of text,
  spec jsonb not null,
  verdict text,
  outcome jsonb,
  cancel_requested boolean not null default false,
  deadline timestamptz not null,
  created_at timestamptz not null default now(),
  finished_at timestamptz,
  primary key (tenant_id, id),
  foreign key (tenant_id, session_id) references sessions (tenant_id, id) on delete cascade
);
create unique index runs_once on runs (tenant_id, idempotency_key);
create index runs_session on runs (tenant_id, session_id, created_at);
create index runs_open on runs (deadline) where verdict is null;

create table artifacts (
  tenant_id text not null default current_setting('app.tenant_id'),
  id text not null,
  run_id text not null,
  session_id text,
  name text not null,
  bytes bigint not null,
  sha256 text not null,
  mime_type text not null,
  width integer,
  height integer,
  object_key text not null,
  created_at timestamptz not null default now(),
  primary key (tenant_id, id),
  foreign key (tenant_id, run_id) references runs (tenant_id, id) on delete cascade
);
create index artifacts_run on artifacts (tenant_id, run_id);
create index artifacts_session on artifacts (tenant_id, session_id, created_at);

create table audit (
  tenant_id text not null default current_setting('app.tenant_id'),
  id bigint generated always as identity,
  at timestamptz not null default clock_timestamp(),
  -- user, API key or system
  actor text not null,
  action text not null,
  target text,
  outcome text not null,
  detail jsonb not null default '{}',
  primary key (tenant_id, id)
);

-- Liveness of gateways: a session whose owner was not seen for 6 s is interrupted by another gateway. No tenant data.
create table gateways (
  id uuid primary key,
  seen_at timestamptz not null default clock_timestamp()
);
