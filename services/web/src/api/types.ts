import type { components, paths } from './schema.js';

/** Shapes of the gateway's API, by the names that the workbench uses for them. Times are RFC 3339 UTC, sizes are bytes. */
type Schemas = components['schemas'];
type Body<Path extends keyof paths, Method extends keyof paths[Path]> = paths[Path][Method] extends {
  requestBody?: { content: { 'application/json': infer Json } };
}
  ? Json
  : never;

export type Locale = 'zh' | 'en';
export type ServerSettings = Schemas['Settings'];
export type Me = Schemas['Me'];
export type ModelConfig = Schemas['ModelConfig'];
export type NewModelConfig = Schemas['NewModelConfig'];
export type ModelConfigChange = Schemas['ModelConfigChange'];
export type ModelTest = Schemas['ModelTest'];
export type ModelTestAnswer = Schemas['ModelTestAnswer'];
export type ModelProblem = NonNullable<ModelTestAnswer['problem']>;
export type Agent = Schemas['Agent'];
export type AgentChange = Schemas['AgentChange'];
export type Session = Schemas['Session'];
export type SessionArtifact = Schemas['SessionArtifact'];
export type StoredFile = Schemas['File'];
export type TableSniff = NonNullable<StoredFile['table']>;
export type RunResult = Schemas['RunResult'];
export type NewMessage = Body<'/v1/sessions/{id}/messages', 'post'>;

/** RFC 9457 body; `detail` is in the language of the request. */
export interface Problem {
  status: number;
  code: string;
  title: string;
  detail: string;
  traceId?: string;
  [field: string]: unknown;
}

type ToolView = Schemas['Message']['tools'][number];
export type ArtifactRef = ToolView['artifacts'][number];
/** One thing that a program showed: text, a table, or a reference to a picture or page. */
export type Display = ToolView['displays'][number];
export type TableDisplay = NonNullable<Display['table']>;
export type Cell = TableDisplay['rows'][number][number];

/** What went wrong in a tool call; for programs the line, the traceback and an explanation in both languages. */
export interface RunError {
  code?: string;
  name?: string;
  message: string;
  line?: number | null;
  traceback?: string;
  explanation?: { zh: string; en: string };
}
