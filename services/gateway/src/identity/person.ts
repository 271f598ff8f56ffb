import { AppError } from '@moli/errors';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type {} from 'fastify';
import type { FoundSession } from './session-lookup.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The signed-in person; missing when an API key was used. */
    person?: FoundSession;
  }
}

/** The signed-in person of the request. A key is refused: some things only a person may do. */
export const CurrentPerson = createParamDecorator((_: unknown, context: ExecutionContext): FoundSession => {
  const { person } = context.switchToHttp().getRequest<{ person?: FoundSession }>();
  if (person) return person;
  throw new AppError('forbidden', {
    zh: '此操作只能由登录的人完成，不能使用 API 密钥。',
    en: 'Only a signed-in person can do this, not an API key.',
  });
});
