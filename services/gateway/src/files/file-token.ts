import { createHmac, timingSafeEqual } from 'node:crypto';
import { AppError } from '@moli/errors';
import { isId } from '../ids.ts';
import { derivedKey } from '../secrets.ts';

/** What a file token proves: that its holder may read exactly this file until then. */
interface Claim {
  readonly tenantId: string;
  readonly fileId: string;
  /** Epoch seconds. */
  readonly expires: number;
}

const refused = (): AppError =>
  new AppError('link_invalid', {
    zh: '文件令牌无效、已过期，或属于别人。请重新申请。',
    en: 'The file token is not valid, has expired, or belongs to someone else. Ask for a new one.',
  });

/** Signs and checks file tokens: `fileId.expires.signature`, bound to the tenant that asked. Nothing is stored. */
export class FileTokens {
  readonly #key: Buffer;

  /** `secret`: the root secret of the installation; the key for tokens is derived from it. */
  constructor(secret: string) {
    this.#key = derivedKey(secret, 'file tokens');
  }

  sign(claim: Claim): string {
    return `${claim.fileId}.${claim.expires}.${this.#signature(claim)}`;
  }

  /** The file id of a token that this tenant may use now. Errors: `link_invalid`, the same for every fault. */
  open(token: string, tenantId: string, now = Date.now()): string {
    const [fileId, expiry, signature, ...rest] = token.split('.');
    const expires = Number(expiry);
    if (!isId('file', fileId) || !Number.isSafeInteger(expires) || !signature || rest.length > 0) throw refused();
    const wanted = Buffer.from(this.#signature({ tenantId, fileId, expires }));
    const given = Buffer.from(signature);
    if (wanted.length !== given.length || !timingSafeEqual(wanted, given)) throw refused();
    if (expires * 1000 <= now) throw refused();
    return fileId;
  }

  #signature({ tenantId, fileId, expires }: Claim): string {
    return createHmac('sha256', this.#key).update(`${tenantId}\n${fileId}\n${expires}`).digest('base64url');
  }
}
