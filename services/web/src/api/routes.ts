import { request } from './client.ts';
import type {
  Agent,
  Me,
  ModelConfig,
  ModelConfigInput,
  ModelTest,
  RunPending,
  RunResult,
  RunSummary,
  ServerSettings,
  Session,
  SessionArtifact,
  StoredFile,
} from './types.ts';

const id = encodeURIComponent;

export const getSettings = () => request<ServerSettings>('GET', '/v1/settings');
export const getMe = () => request<Me>('GET', '/v1/me');

// People --------------------------------------------------------------------
export const signIn = (email: string, password: string) =>
  request<unknown>('POST', '/api/auth/sign-in/email', { body: { email, password } });
export const signOut = () => request<unknown>('POST', '/api/auth/sign-out', { body: {} });
export const verifySignInLink = (token: string) =>
  request<unknown>('GET', '/api/auth/magic-link/verify', { query: { token } });
export const setPassword = (password: string, currentPassword?: string) =>
  request<unknown>('POST', '/v1/me/password', { body: { password, currentPassword } });
export const getInvitation = (token: string) =>
  request<{ email: string; tenant: { name: string } }>('GET', `/v1/invitations/${id(token)}`);
export const acceptInvitation = (token: string, name: string, password: string) =>
  request<unknown>('POST', `/v1/invitations/${id(token)}/accept`, { body: { name, password } });

// Models and agents ---------------------------------------------------------
export const listModels = () => request<{ items: ModelConfig[] }>('GET', '/v1/model-configs');
export const createModel = (body: ModelConfigInput) => request<ModelConfig>('POST', '/v1/model-configs', { body });
export const updateModel = (modelId: string, body: Partial<ModelConfigInput>) =>
  request<ModelConfig>('PATCH', `/v1/model-configs/${id(modelId)}`, { body });
export const deleteModel = (modelId: string) => request<void>('DELETE', `/v1/model-configs/${id(modelId)}`);
export const testModel = (body: { baseUrl: string; apiKey?: string; model: string; id?: string }) =>
  request<ModelTest>('POST', '/v1/model-configs/test', { body });
export const listAgents = () => request<{ items: Agent[] }>('GET', '/v1/agents');
export const updateAgent = (agentId: string, body: Partial<Agent>) =>
  request<Agent>('PATCH', `/v1/agents/${id(agentId)}`, { body });

// Sessions ------------------------------------------------------------------
export const listSessions = (query: { q?: string; cursor?: string; limit?: number }) =>
  request<{ items: Session[]; nextCursor: string | null }>('GET', '/v1/sessions', { query });
export const getSession = (sessionId: string) => request<Session>('GET', `/v1/sessions/${id(sessionId)}`);
export const createSession = (body: { agentId?: string; title?: string }) =>
  request<Session>('POST', '/v1/sessions', { body });
export const updateSession = (sessionId: string, body: { title?: string; agentId?: string }) =>
  request<Session>('PATCH', `/v1/sessions/${id(sessionId)}`, { body });
export const deleteSession = (sessionId: string, keepalive = false) =>
  request<void>('DELETE', `/v1/sessions/${id(sessionId)}`, { keepalive });

export interface NewMessage {
  text: string;
  fileIds?: string[];
  clientMessageId: string;
  locale: string;
}
export const sendMessage = (sessionId: string, body: NewMessage) =>
  request<{ messageId: string; turnId: string; seq: number }>('POST', `/v1/sessions/${id(sessionId)}/messages`, {
    body,
  });
export const stopTurn = (sessionId: string) =>
  request<unknown>('POST', `/v1/sessions/${id(sessionId)}/stop`, { body: {} });
export const continueTurn = (sessionId: string) =>
  request<unknown>('POST', `/v1/sessions/${id(sessionId)}/continue`, { body: {} });
export const editMessage = (sessionId: string, messageId: string, text: string) =>
  request<unknown>('PATCH', `/v1/sessions/${id(sessionId)}/messages/${id(messageId)}`, { body: { text } });
export const resendMessage = (sessionId: string, messageId: string, text?: string) =>
  request<unknown>('POST', `/v1/sessions/${id(sessionId)}/messages/${id(messageId)}/resend`, { body: { text } });
export const exportUrl = (sessionId: string, format: 'md' | 'json') =>
  `/v1/sessions/${id(sessionId)}/export?format=${format}`;

// Files, artifacts, runs ------------------------------------------------------
export const getSessionFiles = (sessionId: string) =>
  request<{ files: StoredFile[]; artifacts: SessionArtifact[] }>('GET', `/v1/sessions/${id(sessionId)}/files`);
export const getFile = (fileId: string) => request<StoredFile>('GET', `/v1/files/${id(fileId)}`);
export const deleteFile = (fileId: string) => request<void>('DELETE', `/v1/files/${id(fileId)}`);
export const fileUrl = (fileId: string) => `/v1/files/${id(fileId)}/content`;
export const artifactUrl = (artifactId: string) => `/v1/artifacts/${id(artifactId)}/content`;
export const artifactDownloadUrl = (artifactId: string) => `/v1/artifacts/${id(artifactId)}/content?download=1`;
export const rerun = (runId: string) =>
  request<{ runId: string }>('POST', `/v1/runs/${id(runId)}/rerun`, { body: {}, headers: { prefer: 'respond-async' } });
export const getRun = (runId: string) => request<RunResult | RunPending>('GET', `/v1/runs/${id(runId)}`);
export const listRuns = (sessionId: string) =>
  request<{ items: RunSummary[] }>('GET', '/v1/runs', { query: { sessionId, limit: 100 } });
export const cancelRun = (runId: string) => request<unknown>('POST', `/v1/runs/${id(runId)}/cancel`, { body: {} });
export const runEventsUrl = (runId: string) => `/v1/runs/${id(runId)}/events`;
