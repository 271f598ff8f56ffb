import { hkdfSync } from 'node:crypto';

/** What a derived key is for. Each gets a key of its own, so that one leaked key opens nothing else. */
export type KeyPurpose = 'cookies' | 'object links' | 'model keys' | 'file tokens';

/** A 32-byte key for one purpose from `MOLI_SECRET`, by HKDF-SHA-256. */
export function derivedKey(secretHex: string, purpose: KeyPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', Buffer.from(secretHex, 'hex'), 'moli', purpose, 32));
}
