/** Shapes of the gateway's API as the workbench uses them. Times are RFC 3339 UTC, sizes are bytes. */
export type Locale = 'zh' | 'en';

/** RFC 9457 body; `detail` is in the language of the request. */
export interface Problem {
  status: number;
  code: string;
  title: string;
  detail: string;
  traceId?: string;
  [field: string]: unknown;
}

export interface ServerSettings {
  version: string;
  upload: { maxBytes: number; types: { extension: string; mimeTypes: string[] }[] };
  scripted: boolean;
  locales: string[];
}

export type Role = 'owner' | 'admin' | 'member' | 'viewer';

export interface Me {
  user: { id: string; email: string; name: string } | null;
  tenant: { id: string; name: string };
  role: Role;
  tenants: { id: string; name: string; role: Role }[];
  hasPassword: boolean;
}

export interface ModelConfig {
  id: string;
  name: string;
  baseUrl: string;
  model: string;
  hasKey: boolean;
  contextTokens: number;
  isDefault: boolean;
  scripted: boolean;
  createdAt: string;
}

export interface ModelConfigInput {
  name?: string;
  baseUrl: string;
  apiKey?: string;
  model: string;
  contextTokens?: number;
  isDefault?: boolean;
}

export interface ModelProblem {
  code: string;
  title: string;
  detail: string;
  [field: string]: unknown;
}

export interface ModelTest {
  ok: boolean;
  latencyMs?: number;
  reply?: string;
  /** Whether the model called the tool that it was offered. */
  tools?: boolean;
  problem?: ModelProblem;
  models?: string[];
}

export interface Agent {
  id: string;
  name: string;
  avatar?: string | null;
  routing: { mode: 'fixed'; modelConfigId: string | null };
}

export interface Session {
  id: string;
  title: string;
  agentId: string;
  createdAt: string;
  updatedAt: string;
  lastSeq: number;
  running: boolean;
}

export interface TableSniff {
  encoding: string | null;
  delimiter: string | null;
  columns: { name: string; type: string }[];
  rows: number;
}

export interface StoredFile {
  id: string;
  name: string;
  bytes: number;
  sha256?: string;
  mimeType: string;
  sessionId?: string | null;
  createdAt?: string;
  table?: TableSniff;
  sheets?: { name: string; columns: { name: string; type: string }[]; rows: number }[];
  /** Doubts about what was found: encoding, header, ragged rows. */
  notes?: { code: string; zh: string; en: string }[];
}

export interface ArtifactRef {
  id: string;
  name: string;
  mimeType: string;
  bytes: number;
  sha256?: string;
  width?: number;
  height?: number;
}

export type SessionArtifact = ArtifactRef & { runId: string; createdAt: string };

export type Cell = string | number | boolean | null;

export interface TableDisplay {
  columns: { name: string; type: string }[];
  rows: Cell[][];
  totalRows: number;
  totalColumns: number;
}

export interface Display {
  mimeType: string;
  text?: string;
  table?: TableDisplay;
  artifact?: ArtifactRef;
}

export interface RunError {
  code?: string;
  name?: string;
  message: string;
  line?: number | null;
  traceback?: string;
  explanation?: { zh: string; en: string };
}

/** What a run answered, as `GET /v1/runs/{id}` and the last frame of its event stream carry it. */
export interface RunResult {
  runId: string;
  state: 'finished';
  success: boolean;
  verdict: string;
  stdout?: string;
  stderr?: string;
  display?: (Display & { artifactId?: string })[];
  artifacts?: ArtifactRef[];
  error?: RunError | null;
  usage?: { wallMs: number; cpuMs: number; maxMemoryBytes: number };
  timings?: Record<string, number>;
}

/** A run that has no verdict yet. */
export interface RunPending {
  runId: string;
  state: 'queued' | 'running';
}

export interface RunSummary {
  runId: string;
  state: 'open' | 'finished';
  rerunOf: string | null;
}
