import type { OpenAPIObject } from '@nestjs/swagger';

const json = (schema: object) => ({ content: { 'application/json': { schema } } });
const text = { type: 'string' };
const user = { $ref: '#/components/schemas/SignedInUser' };
const signedIn = { '200': { description: 'Signed in; the session is in the cookie', ...json(user) } };

const parameter = (name: string, where: 'query' | 'path' | 'header', required: boolean, description = '') => ({
  name,
  in: where,
  required,
  description,
  schema: text,
});

const noBody = (description: string) => ({ description });
const binary = { type: 'string', format: 'binary' };

/** The tus protocol (https://tus.io/protocols/resumable-upload) in the parts that a client needs to know of ours. */
const UPLOADS = {
  '/api/upload': {
    post: {
      operationId: 'startUpload',
      summary: 'Start a resumable upload (tus 1.0: creation, creation-with-upload)',
      tags: ['files'],
      parameters: [
        parameter('tus-resumable', 'header', true, '1.0.0'),
        parameter('upload-length', 'header', true, 'Bytes of the whole file'),
        parameter(
          'upload-metadata',
          'header',
          true,
          'filename, and optionally sessionId and sha256, each value in base64',
        ),
      ],
      requestBody: { content: { 'application/offset+octet-stream': { schema: binary } } },
      responses: { '201': noBody('Location is the address of the upload') },
    },
  },
  '/api/upload/{id}': {
    patch: {
      operationId: 'continueUpload',
      summary: 'Send bytes from an offset; the last answer carries Moli-File-Id',
      tags: ['files'],
      parameters: [
        parameter('id', 'path', true),
        parameter('tus-resumable', 'header', true),
        parameter('upload-offset', 'header', true),
      ],
      requestBody: { content: { 'application/offset+octet-stream': { schema: binary } } },
      responses: { '204': noBody('Taken; Upload-Offset says how far it is') },
    },
    head: {
      operationId: 'getUpload',
      summary: 'How far an upload is',
      tags: ['files'],
      parameters: [parameter('id', 'path', true), parameter('tus-resumable', 'header', true)],
      responses: { '200': noBody('Upload-Offset and Upload-Length; Moli-File-Id when it is finished') },
    },
    delete: {
      operationId: 'cancelUpload',
      summary: 'Give an upload up (tus 1.0: termination)',
      tags: ['files'],
      parameters: [parameter('id', 'path', true), parameter('tus-resumable', 'header', true)],
      responses: { '204': noBody('Gone') },
    },
  },
};

const OBJECTS = {
  '/objects/{key}': {
    get: {
      operationId: 'readObject',
      summary: 'Bytes behind a signed link; the signature is the credential',
      tags: ['files'],
      security: [],
      parameters: [parameter('key', 'path', true)],
      responses: { '200': { description: 'The bytes', content: { 'application/octet-stream': { schema: binary } } } },
    },
    put: {
      operationId: 'writeObject',
      summary: 'Write one object by a signed link, once',
      tags: ['files'],
      security: [],
      parameters: [parameter('key', 'path', true)],
      requestBody: { content: { 'application/octet-stream': { schema: binary } } },
      responses: { '200': noBody('Written and checked') },
    },
  },
};

const OTHERS = {
  '/v1/files': {
    post: {
      operationId: 'uploadFile',
      summary: 'Upload one small file in one request',
      tags: ['files'],
      requestBody: {
        required: true,
        content: {
          'multipart/form-data': {
            schema: { type: 'object', required: ['file'], properties: { file: binary, sessionId: text } },
          },
        },
      },
      responses: { '201': { description: 'Stored and described', ...json({ $ref: '#/components/schemas/File' }) } },
    },
  },
  '/v1/ws': {
    get: {
      operationId: 'openSocket',
      summary: 'WebSocket: events of many sessions, messages and stops (frames in docs/api.md)',
      tags: ['sessions'],
      security: [{ session: [] }, {}],
      responses: { '101': noBody('Switched to WebSocket') },
    },
  },
};

/** Routes that are not Nest handlers. A test compares them with what is served. */
export const RAW_PATHS = {
  '/api/auth/sign-in/email': {
    post: {
      operationId: 'signInWithPassword',
      security: [],
      summary: 'Sign in with e-mail address and password',
      tags: ['identity'],
      requestBody: {
        required: true,
        ...json({
          type: 'object',
          required: ['email', 'password'],
          properties: { email: text, password: text },
          additionalProperties: false,
        }),
      },
      responses: signedIn,
    },
  },
  '/api/auth/magic-link/verify': {
    get: {
      operationId: 'signInWithLink',
      security: [],
      summary: 'Sign in with the token of a one-time link',
      tags: ['identity'],
      parameters: [parameter('token', 'query', true)],
      responses: signedIn,
    },
  },
  '/api/auth/get-session': {
    get: {
      operationId: 'getAuthSession',
      security: [],
      summary: 'The signed-in person, or null',
      tags: ['identity'],
      responses: {
        '200': { description: 'The person of the cookie, or null', ...json({ anyOf: [user, { type: 'null' }] }) },
      },
    },
  },
  '/api/auth/sign-out': {
    post: {
      operationId: 'signOut',
      security: [],
      summary: 'End the session',
      tags: ['identity'],
      responses: {
        '200': { description: 'Signed out', ...json({ type: 'object', properties: { success: { type: 'boolean' } } }) },
      },
    },
  },
  '/api/auth/change-password': {
    post: {
      operationId: 'changePassword',
      summary: 'Change one’s own password; ends all other sessions',
      tags: ['identity'],
      requestBody: {
        required: true,
        ...json({
          type: 'object',
          required: ['currentPassword', 'newPassword'],
          properties: { currentPassword: text, newPassword: text },
          additionalProperties: false,
        }),
      },
      responses: {
        '200': { description: 'Changed', ...json({ type: 'object', properties: { success: { type: 'boolean' } } }) },
      },
    },
  },
  ...UPLOADS,
  ...OBJECTS,
  ...OTHERS,
} as unknown as OpenAPIObject['paths'];
