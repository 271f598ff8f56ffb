import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { AppError } from '@moli/errors';
import { derivedKey } from '../secrets.ts';

const VERSION = 1;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Keys of model servers as they lie in the database: AES-256-GCM under a key derived from MOLI_SECRET, bound to tenant and row, so that
 * a copy of the database reveals nothing and a sealed key moved to another row does not open. Layout: version, 12 B IV, 16 B tag, text.
 */
export class KeySeal {
  readonly #key: Buffer;

  constructor(secretHex: string) {
    this.#key = derivedKey(secretHex, 'model keys');
  }

  seal(apiKey: string, place: { tenantId: string; id: string }): Buffer {
    const iv = randomBytes(IV_BYTES);
    const cipher = createCipheriv('aes-256-gcm', this.#key, iv);
    cipher.setAAD(aadOf(place));
    const text = Buffer.concat([cipher.update(apiKey, 'utf8'), cipher.final()]);
    return Buffer.concat([Buffer.of(VERSION), iv, cipher.getAuthTag(), text]);
  }

  /** Throws `unavailable` when the seal does not open: MOLI_SECRET was changed, or the row was tampered with. */
  open(sealed: Buffer, place: { tenantId: string; id: string }): string {
    try {
      if (sealed[0] !== VERSION) throw new Error('unknown version of a sealed key');
      const tag = sealed.subarray(1 + IV_BYTES, 1 + IV_BYTES + TAG_BYTES);
      const decipher = createDecipheriv('aes-256-gcm', this.#key, sealed.subarray(1, 1 + IV_BYTES), {
        authTagLength: TAG_BYTES,
      });
      decipher.setAAD(aadOf(place));
      decipher.setAuthTag(tag);
      const text = Buffer.concat([decipher.update(sealed.subarray(1 + IV_BYTES + TAG_BYTES)), decipher.final()]);
      return text.toString('utf8');
    } catch (cause) {
      throw new AppError(
        'unavailable',
        {
          zh: '保存的模型密钥无法解密，可能是 MOLI_SECRET 变了。请管理员在模型设置里重新填写密钥。',
          en: 'The stored key of the model cannot be opened; MOLI_SECRET may have changed. An administrator should enter the key again in the model settings.',
        },
        { cause },
      );
    }
  }
}

const aadOf = ({ tenantId, id }: { tenantId: string; id: string }): Buffer => Buffer.from(`${tenantId}/${id}`, 'utf8');
