import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { NodeRequest } from 'srvx/node';
import { isId } from '../ids.ts';
import { refusalOf } from './uploads.errors.ts';
import type { UploadContext, UploadsService } from './uploads.service.ts';

/**
 * `/api/upload` speaks tus 1.0. No GET: it would serve the raw upload with the client's own idea of its type.
 * The body stays on the socket for the library; Fastify's limit does not apply here, the announced length does.
 */
export async function registerUploads(fastify: FastifyInstance, uploads: UploadsService): Promise<void> {
  await fastify.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
    for (const url of ['/api/upload', '/api/upload/*'])
      scope.route({
        method: ['OPTIONS', 'POST', 'PATCH', 'HEAD', 'DELETE'],
        url,
        exposeHeadRoute: false,
        handler: (request, reply) => answer(request, reply, uploads),
      });
  });
}

async function answer(request: FastifyRequest, reply: FastifyReply, uploads: UploadsService): Promise<FastifyReply> {
  const { caller } = request;
  if (!caller) throw new Error('an upload without authentication');
  const context: UploadContext = { caller, seen: new Map() };
  const response = await uploads.context.run(context, () =>
    uploads.tus.handleWeb(new NodeRequest({ req: request.raw, res: reply.raw })),
  );
  if (response.status >= 400) {
    // Unread bytes of a refused request would be taken for the next one on this connection.
    reply.header('tus-resumable', '1.0.0').header('connection', 'close');
    throw context.refusal ?? refusalOf(response.status, await response.text());
  }
  if (request.method === 'OPTIONS') reply.header('tus-max-size', uploads.maxBytes);
  if (request.method === 'HEAD') {
    const id = request.url.split('?')[0]?.split('/').at(-1);
    const complete = response.headers.get('upload-offset') === response.headers.get('upload-length');
    const fileId = complete && isId('upl', id) ? await uploads.fileOf(caller, id) : null;
    if (fileId) reply.header('Moli-File-Id', fileId);
  }
  return reply.send(response);
}
