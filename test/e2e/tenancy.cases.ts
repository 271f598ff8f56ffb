/** Ids of one tenant's things. The same shape is filled once with a stranger's ids and once with ids that nobody has. */
export interface Ids {
  readonly session: string;
  readonly message: string;
  readonly file: string;
  readonly run: string;
  readonly artifact: string;
  readonly agent: string;
  readonly modelConfig: string;
  readonly key: string;
  readonly invitation: string;
  readonly user: string;
  readonly upload: string;
}

export interface Attempt {
  readonly path: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * What a route has to do with a stranger's ids:
 * `own` – it takes no id and answers from the caller's tenant: nothing of a stranger may be in the answer;
 * `open` – it answers everybody the same or is the door itself;
 * a function – requests with ids in path, query or body, which must be answered as for ids that do not exist.
 */
export type Case = 'own' | 'open' | ((ids: Ids, mine: { session: string; agent: string }) => Attempt[]);

const at =
  (path: (ids: Ids) => string, body?: unknown): Case =>
  (ids) => [body === undefined ? { path: path(ids) } : { path: path(ids), body }];

const metadata = (name: string, session: string) =>
  `filename ${Buffer.from(name).toString('base64')},sessionId ${Buffer.from(session).toString('base64')}`;

/** Every route that the gateway describes in its OpenAPI document. A route without a line here fails the test. */
export const CASES: Readonly<Record<string, Case>> = {
  'POST /api/auth/change-password': 'open',
  'GET /api/auth/get-session': 'open',
  'GET /api/auth/magic-link/verify': 'open',
  'POST /api/auth/sign-in/email': 'open',
  'POST /api/auth/sign-out': 'open',
  'GET /livez': 'open',
  'GET /readyz': 'open',
  'GET /metrics': 'open',
  'GET /version': 'open',
  'GET /v1/settings': 'open',
  'POST /v1/me/password': 'open',
  // A token is 256 random bits, known to the invited person alone, and belongs to whoever has it.
  'GET /v1/invitations/{token}': 'open',
  'POST /v1/invitations/{token}/accept': 'open',

  'GET /v1/me': 'own',
  'GET /tools/openai': 'own',
  'GET /v1/agents': 'own',
  'POST /v1/agents': (ids) => [
    { path: '/v1/agents', body: { name: 'x', routing: { mode: 'fixed', modelConfigId: ids.modelConfig } } },
  ],
  'GET /v1/agents/{id}': at((ids) => `/v1/agents/${ids.agent}`),
  'PATCH /v1/agents/{id}': (ids, mine) => [
    { path: `/v1/agents/${ids.agent}`, body: { name: 'taken' } },
    { path: `/v1/agents/${mine.agent}`, body: { routing: { mode: 'fixed', modelConfigId: ids.modelConfig } } },
  ],
  'DELETE /v1/agents/{id}': at((ids) => `/v1/agents/${ids.agent}`),
  'GET /v1/artifacts/{id}/content': at((ids) => `/v1/artifacts/${ids.artifact}/content`),
  'POST /v1/artifacts/{id}/token': at((ids) => `/v1/artifacts/${ids.artifact}/token`, {}),
  'POST /v1/code/execute': (ids) => [
    { path: '/v1/code/execute', body: { code: 'print(1)', sessionId: ids.session } },
    { path: '/v1/code/execute', body: { code: 'print(1)', files: [{ id: ids.file }] } },
  ],
  'POST /tools/{name}/execute': (ids) => [
    { path: `/tools/run_python/execute?sessionId=${ids.session}`, body: { code: 'print(1)' } },
    { path: `/tools/file_list/execute?sessionId=${ids.session}`, body: {} },
  ],
  'GET /v1/files': at((ids) => `/v1/files?sessionId=${ids.session}`),
  'GET /v1/files/{id}': at((ids) => `/v1/files/${ids.file}`),
  'DELETE /v1/files/{id}': at((ids) => `/v1/files/${ids.file}`),
  'GET /v1/files/{id}/content': at((ids) => `/v1/files/${ids.file}/content`),
  'POST /v1/files/{id}/token': at((ids) => `/v1/files/${ids.file}/token`, {}),
  'GET /v1/invitations': 'own',
  'POST /v1/invitations': 'own',
  'DELETE /v1/invitations/{id}': at((ids) => `/v1/invitations/${ids.invitation}`),
  'GET /v1/keys': 'own',
  'POST /v1/keys': 'own',
  'DELETE /v1/keys/{id}': at((ids) => `/v1/keys/${ids.key}`),
  'GET /v1/members': 'own',
  'PATCH /v1/members/{userId}': at((ids) => `/v1/members/${ids.user}`, { role: 'viewer' }),
  'DELETE /v1/members/{userId}': at((ids) => `/v1/members/${ids.user}`),
  'GET /v1/model-configs': 'own',
  'POST /v1/model-configs': 'own',
  'POST /v1/model-configs/test': (ids) => [
    { path: '/v1/model-configs/test', body: { baseUrl: 'http://127.0.0.1:9/v1', model: 'm', id: ids.modelConfig } },
  ],
  'PATCH /v1/model-configs/{id}': at((ids) => `/v1/model-configs/${ids.modelConfig}`, { name: 'taken' }),
  'DELETE /v1/model-configs/{id}': at((ids) => `/v1/model-configs/${ids.modelConfig}`),
  'GET /v1/runs': at((ids) => `/v1/runs?sessionId=${ids.session}`),
  'GET /v1/runs/{id}': at((ids) => `/v1/runs/${ids.run}`),
  'POST /v1/runs/{id}/cancel': at((ids) => `/v1/runs/${ids.run}/cancel`),
  'GET /v1/runs/{id}/events': at((ids) => `/v1/runs/${ids.run}/events`),
  'POST /v1/runs/{id}/rerun': at((ids) => `/v1/runs/${ids.run}/rerun`),
  'GET /v1/sessions': 'own',
  'POST /v1/sessions': (ids) => [{ path: '/v1/sessions', body: { agentId: ids.agent } }],
  'GET /v1/sessions/{id}': at((ids) => `/v1/sessions/${ids.session}`),
  'PATCH /v1/sessions/{id}': (ids, mine) => [
    { path: `/v1/sessions/${ids.session}`, body: { title: 'taken' } },
    { path: `/v1/sessions/${mine.session}`, body: { agentId: ids.agent } },
  ],
  'DELETE /v1/sessions/{id}': at((ids) => `/v1/sessions/${ids.session}`),
  'POST /v1/sessions/{id}/continue': at((ids) => `/v1/sessions/${ids.session}/continue`),
  'GET /v1/sessions/{id}/events': at((ids) => `/v1/sessions/${ids.session}/events`),
  'GET /v1/sessions/{id}/export': at((ids) => `/v1/sessions/${ids.session}/export`),
  'GET /v1/sessions/{id}/files': at((ids) => `/v1/sessions/${ids.session}/files`),
  'GET /v1/sessions/{id}/messages': at((ids) => `/v1/sessions/${ids.session}/messages`),
  'POST /v1/sessions/{id}/messages': (ids, mine) => [
    { path: `/v1/sessions/${ids.session}/messages`, body: { text: 'hello' } },
    { path: `/v1/sessions/${mine.session}/messages`, body: { text: 'hello', fileIds: [ids.file] } },
  ],
  'PATCH /v1/sessions/{id}/messages/{messageId}': (ids, mine) => [
    { path: `/v1/sessions/${ids.session}/messages/${ids.message}`, body: { text: 'taken' } },
    { path: `/v1/sessions/${mine.session}/messages/${ids.message}`, body: { text: 'taken' } },
  ],
  'POST /v1/sessions/{id}/messages/{messageId}/resend': (ids, mine) => [
    { path: `/v1/sessions/${ids.session}/messages/${ids.message}/resend`, body: {} },
    { path: `/v1/sessions/${mine.session}/messages/${ids.message}/resend`, body: {} },
  ],
  'POST /v1/sessions/{id}/stop': at((ids) => `/v1/sessions/${ids.session}/stop`),
  'POST /api/upload': (ids) => [
    {
      path: '/api/upload',
      headers: { 'tus-resumable': '1.0.0', 'upload-length': '4', 'upload-metadata': metadata('x.csv', ids.session) },
    },
  ],
  'POST /v1/files': (ids) => [
    {
      path: '/v1/files',
      headers: { 'content-type': 'multipart/form-data; boundary=cut' },
      body: [
        ...['--cut', 'content-disposition: form-data; name="sessionId"', '', ids.session],
        ...['--cut', 'content-disposition: form-data; name="file"; filename="x.csv"', '', 'a,b', '--cut--', ''],
      ].join('\r\n'),
    },
  ],
  'HEAD /api/upload/{id}': (ids) => [{ path: `/api/upload/${ids.upload}`, headers: { 'tus-resumable': '1.0.0' } }],
  'PATCH /api/upload/{id}': (ids) => [
    {
      path: `/api/upload/${ids.upload}`,
      headers: { 'tus-resumable': '1.0.0', 'upload-offset': '0', 'content-type': 'application/offset+octet-stream' },
      body: 'a,b\n',
    },
  ],
  'DELETE /api/upload/{id}': (ids) => [{ path: `/api/upload/${ids.upload}`, headers: { 'tus-resumable': '1.0.0' } }],
  // Whoever has a signed link may use it; links of another tenant's objects can't be had (see the token routes).
  'GET /objects/{key}': 'open',
  'PUT /objects/{key}': 'open',
  // Its frames name sessions: tried by themselves.
  'GET /v1/ws': 'open',
};
