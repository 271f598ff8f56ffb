import type { ColumnType, Generated, JSONColumnType } from 'kysely';

/** bigint columns come back as strings from pg. */
type BigCount = ColumnType<string, number | string, number | string>;
type CreatedAt = ColumnType<Date, never, never>;
type Json<T> = JSONColumnType<T & object>;

export type Role = 'owner' | 'admin' | 'member' | 'viewer';

/** `tenant_id` defaults to the tenant of the transaction, so inserts leave it out. */
interface Owned {
  tenant_id: Generated<string>;
}

export interface Database {
  tenants: { id: string; name: string; created_at: CreatedAt };
  members: Owned & { user_id: string; role: Role; created_at: CreatedAt };
  invitations: Owned & {
    id: string;
    email: string;
    role: Role;
    token_hash: Buffer;
    expires_at: Date;
    used_at: Date | null;
    created_at: CreatedAt;
  };
  api_keys: Owned & {
    id: string;
    user_id: string | null;
    role: Role;
    name: string;
    hash: Buffer;
    prefix: string;
    created_at: CreatedAt;
    last_used_at: Date | null;
    revoked_at: Date | null;
  };
  model_configs: Owned & {
    id: string;
    name: string;
    base_url: string;
    model: string;
    key_sealed: Buffer | null;
    context_tokens: number;
    is_default: boolean;
    scripted: Generated<boolean>;
    created_at: CreatedAt;
  };
  agents: Owned & {
    id: string;
    name: string;
    avatar: string | null;
    system_prompt: string;
    routing: Json<{ mode: 'fixed'; modelConfigId: string | null }>;
    tools: Json<string[]>;
    context: Json<{ maxTokens: number | null }>;
    created_at: CreatedAt;
  };
  sessions: Owned & {
    id: string;
    agent_id: string;
    user_id: string | null;
    title: string;
    next_seq: Generated<string>;
    fence: Generated<string>;
    owner: string | null;
    created_at: CreatedAt;
    updated_at: ColumnType<Date, Date | undefined, Date>;
  };
  events: Owned & {
    session_id: string;
    seq: BigCount;
    type: string;
    turn_id: string | null;
    message_id: string | null;
    at: ColumnType<Date, Date | undefined, never>;
    data: Json<Record<string, unknown>>;
  };
  pending_inputs: Owned & {
    session_id: string;
    id: Generated<string>;
    client_message_id: string | null;
    answer: Json<Record<string, unknown>>;
    input: Json<Record<string, unknown>>;
    started_at: Date | null;
    created_at: CreatedAt;
  };
  files: Owned & {
    id: string;
    session_id: string | null;
    user_id: string | null;
    upload_id: string | null;
    name: string;
    bytes: BigCount;
    sha256: string;
    mime_type: string;
    object_key: string;
    description: Json<Record<string, unknown>>;
    created_at: CreatedAt;
  };
  runs: Owned & {
    id: string;
    session_id: string | null;
    turn_id: string | null;
    call_id: string | null;
    user_id: string | null;
    idempotency_key: string | null;
    rerun_of: string | null;
    spec: Json<Record<string, unknown>>;
    verdict: string | null;
    outcome: Json<Record<string, unknown>> | null;
    cancel_requested: Generated<boolean>;
    deadline: Date;
    created_at: CreatedAt;
    finished_at: Date | null;
  };
  artifacts: Owned & {
    id: string;
    run_id: string;
    session_id: string | null;
    name: string;
    bytes: BigCount;
    sha256: string;
    mime_type: string;
    width: number | null;
    height: number | null;
    object_key: string;
    created_at: CreatedAt;
  };
  audit: Owned & {
    id: Generated<string>;
    at: CreatedAt;
    actor: string;
    action: string;
    target: string | null;
    outcome: string;
    detail: Json<Record<string, unknown>>;
  };
  gateways: { id: string; seen_at: ColumnType<Date, Date | undefined, Date> };
}
