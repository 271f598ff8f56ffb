import { api, call } from './client.ts';
import { endTrace, traceparent } from './trace.ts';
import type { AgentChange, ModelConfigChange, ModelTest, NewMessage, NewModelConfig } from './types.ts';

export const getSettings = () => call(api.GET('/v1/settings'));
export const getMe = () => call(api.GET('/v1/me'));

// People --------------------------------------------------------------------
export const signIn = (email: string, password: string) =>
  call(api.POST('/api/auth/sign-in/email', { body: { email, password } }));
export const signOut = () => call(api.POST('/api/auth/sign-out'));
export const verifySignInLink = (token: string) =>
  call(api.GET('/api/auth/magic-link/verify', { params: { query: { token } } }));
export const setPassword = (password: string, currentPassword?: string) =>
  call(api.POST('/v1/me/password', { body: { password, currentPassword } }));
export const getInvitation = (token: string) =>
  call(api.GET('/v1/invitations/{token}', { params: { path: { token } } }));
export const acceptInvitation = (token: string, name: string, password: string) =>
  call(api.POST('/v1/invitations/{token}/accept', { params: { path: { token } }, body: { name, password } }));

// Models and agents ---------------------------------------------------------
export const listModels = () => call(api.GET('/v1/model-configs'));
export const createModel = (body: NewModelConfig) => call(api.POST('/v1/model-configs', { body }));
export const updateModel = (id: string, body: ModelConfigChange) =>
  call(api.PATCH('/v1/model-configs/{id}', { params: { path: { id } }, body }));
export const deleteModel = (id: string) => call(api.DELETE('/v1/model-configs/{id}', { params: { path: { id } } }));
export const testModel = (body: ModelTest) => call(api.POST('/v1/model-configs/test', { body }));
export const listAgents = () => call(api.GET('/v1/agents'));
export const updateAgent = (id: string, body: AgentChange) =>
  call(api.PATCH('/v1/agents/{id}', { params: { path: { id } }, body }));

// Sessions ------------------------------------------------------------------
const ofSession = (id: string) => ({ params: { path: { id } } });

export const listSessions = (query: { q?: string; cursor?: string; limit?: number }) =>
  call(api.GET('/v1/sessions', { params: { query } }));
export const getSession = (id: string) => call(api.GET('/v1/sessions/{id}', ofSession(id)));
export const createSession = (agentId?: string) => call(api.POST('/v1/sessions', { body: agentId ? { agentId } : {} }));
export const updateSession = (id: string, body: { title?: string; agentId?: string }) =>
  call(api.PATCH('/v1/sessions/{id}', { ...ofSession(id), body }));
/** With `keepalive` the request outlives the page. */
export const deleteSession = (id: string, keepalive = false) =>
  call(api.DELETE('/v1/sessions/{id}', { ...ofSession(id), keepalive }));
export async function sendMessage(id: string, body: NewMessage) {
  const headers = { traceparent: traceparent(id) };
  const accepted = await call(api.POST('/v1/sessions/{id}/messages', { ...ofSession(id), body, headers }));
  endTrace(id);
  return accepted;
}
export const stopTurn = (id: string) => call(api.POST('/v1/sessions/{id}/stop', { ...ofSession(id), body: {} }));
export const continueTurn = (id: string) =>
  call(api.POST('/v1/sessions/{id}/continue', { ...ofSession(id), body: {} }));
export const editMessage = (id: string, messageId: string, text: string) =>
  call(api.PATCH('/v1/sessions/{id}/messages/{messageId}', { params: { path: { id, messageId } }, body: { text } }));
export const resendMessage = (id: string, messageId: string, text?: string) =>
  call(
    api.POST('/v1/sessions/{id}/messages/{messageId}/resend', { params: { path: { id, messageId } }, body: { text } }),
  );
export const getSessionFiles = (id: string) => call(api.GET('/v1/sessions/{id}/files', ofSession(id)));
export const exportUrl = (id: string, format: 'md' | 'json') =>
  `/v1/sessions/${encodeURIComponent(id)}/export?format=${format}`;

// Files, artifacts, runs ------------------------------------------------------
export const getFile = (id: string) => call(api.GET('/v1/files/{id}', { params: { path: { id } } }));
export const deleteFile = (id: string) => call(api.DELETE('/v1/files/{id}', { params: { path: { id } } }));
export const fileUrl = (id: string) => `/v1/files/${encodeURIComponent(id)}/content`;
export const artifactUrl = (id: string) => `/v1/artifacts/${encodeURIComponent(id)}/content`;
/** A page of a run for a sealed frame, which it tells how high it is. */
export const artifactFrameUrl = (id: string) => `${artifactUrl(id)}?frame=1`;
export const artifactDownloadUrl = (id: string) => `${artifactUrl(id)}?download=1`;
/** The same code on the same files as a new run; answers its id at once. */
export async function rerun(id: string): Promise<string> {
  const options = { params: { path: { id } }, headers: { prefer: 'respond-async' } };
  return (await call(api.POST('/v1/runs/{id}/rerun', options))).runId;
}
export const getRun = (id: string) => call(api.GET('/v1/runs/{id}', { params: { path: { id } } }));
export const cancelRun = (id: string) => call(api.POST('/v1/runs/{id}/cancel', { params: { path: { id } } }));
export const listRuns = (sessionId: string) =>
  call(api.GET('/v1/runs', { params: { query: { sessionId, limit: 100 } } }));
export const runEventsUrl = (id: string) => `/v1/runs/${encodeURIComponent(id)}/events`;
