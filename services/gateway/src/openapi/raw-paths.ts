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
} as unknown as OpenAPIObject['paths'];
