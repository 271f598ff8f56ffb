import { isIP } from 'node:net';
import { AppError } from '@moli/errors';
import type { FastifyRequest } from 'fastify';
import type { GatewayConfig } from '../config.ts';

/** `[::1]:8000` and `127.0.0.1:8000` without port and brackets. */
function hostname(host: string): string {
  return /^\[([^\]]+)\](:\d+)?$/.exec(host)?.[1] ?? host.replace(/:\d+$/, '');
}

/**
 * The names under which Moli may be opened. A foreign name that leads here is DNS rebinding or a proxy that nobody configured. Literal addresses
 * are always fine: no foreign page can have one as its origin.
 */
export class Hosts {
  readonly #names: ReadonlySet<string>;
  readonly #public: URL;

  constructor(config: Pick<GatewayConfig, 'publicUrl' | 'internalUrl' | 'allowedHosts'>) {
    this.#public = new URL(config.publicUrl);
    const internal = config.internalUrl ? [new URL(config.internalUrl).host] : [];
    this.#names = new Set([this.#public.host, ...internal, ...config.allowedHosts].map((name) => name.toLowerCase()));
  }

  /** Throws `misdirected` (421) for a Host that is not ours. */
  assertKnown(request: FastifyRequest): void {
    const host = request.host.toLowerCase();
    const name = hostname(host);
    if (name === 'localhost' || isIP(name) !== 0 || this.#names.has(host) || this.#names.has(name)) return;
    throw new AppError('misdirected', {
      zh: `不能通过地址“${host.slice(0, 100)}”访问。请改用 ${this.#public.origin}，或由管理员把它加入 MOLI_ALLOWED_HOSTS。`,
      en: `Moli is not served under "${host.slice(0, 100)}". Open ${this.#public.origin}, or ask an administrator to add that name to MOLI_ALLOWED_HOSTS.`,
    });
  }

  /** The origin that the browser shows for this request. */
  originOf(request: FastifyRequest): string {
    return request.host.toLowerCase() === this.#public.host
      ? this.#public.origin
      : `${request.protocol}://${request.host.toLowerCase()}`;
  }

  /**
   * Refuses what another site's page sends with our cookie. `withCookie`: a browser always sends Origin with such a request, so one without it is
   * refused too; without a cookie only a foreign Origin is (sign-in by a foreign page).
   */
  assertSameOrigin(request: FastifyRequest, withCookie: boolean): void {
    const { origin } = request.headers;
    if (origin === undefined ? !withCookie : origin.toLowerCase() === this.originOf(request)) return;
    throw new AppError('forbidden', {
      zh: '请求来自其他网站，已拒绝。请在 Moli 自己的页面中操作；程序请使用 API 密钥。',
      en: 'The request comes from another site and was refused. Use the pages of Moli itself; programs use an API key.',
    });
  }
}
