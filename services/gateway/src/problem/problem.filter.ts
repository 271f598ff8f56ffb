import { AppError, problemOf } from '@moli/errors';
import { log } from '@moli/telemetry';
import { type ArgumentsHost, Catch, type ExceptionFilter, Inject } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Metrics } from '../metrics.ts';
import { localeOf } from './locale.ts';
import { translate } from './translate.ts';

/** Sends an error in the one shape of the API. Used by the filter, by hooks and by raw routes. */
export function sendProblem(
  request: FastifyRequest,
  reply: FastifyReply,
  thrown: unknown,
  metrics?: Metrics,
): FastifyReply {
  const error = translate(thrown);
  metrics?.errors.inc({ code: error.code });
  if (error.status >= 500) {
    log.error('a request failed', {
      route: request.routeOptions?.url,
      method: request.method,
      code: error.code,
      error: error.cause ?? error,
    });
  } else {
    log.debug('a request was refused', { route: request.routeOptions?.url, method: request.method, code: error.code });
  }
  if (error.retryAfterSeconds !== undefined)
    reply.header('retry-after', String(Math.max(1, Math.ceil(error.retryAfterSeconds))));
  // RFC 9110, 15.5.17: a client that resumes a download learns the length here.
  if (error.code === 'range_not_satisfiable') reply.header('content-range', `bytes */${error.fields.bytes}`);
  return reply
    .status(error.status)
    .removeHeader('content-disposition')
    .header('content-type', 'application/problem+json; charset=utf-8')
    .header('cache-control', 'no-store')
    .send(JSON.stringify(problemOf(error, localeOf(request.headers['accept-language']), request.id)));
}

/** Everything thrown while a request is answered leaves as a problem body; secrets, stacks and foreign messages stay in the log. */
@Catch()
export class ProblemFilter implements ExceptionFilter {
  constructor(@Inject(Metrics) private readonly metrics: Metrics) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    if (reply.sent || reply.raw.headersSent) {
      // The answer has begun (a stream, a hijacked reply): all that is left is to end the connection, so that nobody takes a part for the whole.
      log.error('a request failed after its answer began', {
        route: request.routeOptions?.url,
        error: thrown instanceof AppError ? thrown.cause : thrown,
      });
      reply.raw.destroy();
      return;
    }
    sendProblem(request, reply, thrown, this.metrics);
  }
}
