/**
 * Objects: whole files by key, and the names that people give to files.
 *
 * - `ObjectStore`: put, get (with range), stat, list, delete, deletePrefix, signGet, signPut, check, sweepTemporary. See `object-store.ts`.
 * - `new FolderObjectStore({ directory, secret, publicUrl, internalUrl? })`: the store of one machine; call `await store.open()` once.
 *   Beyond the interface: `verifyLink(method, url)`.
 * - `new S3ObjectStore({ endpoint, bucket, … })`: one bucket of an S3 server; call `await store.open(days)` once. What stands in its way is thrown
 *   as `S3Unavailable`, which names the settings to look at. `awsConfig(options, endpoint)`: the same access for libraries on the AWS client.
 * - `answerLink(store, { method, url, headers, body })` → `{ status, headers, body? }`: the whole route `GET|PUT /objects/*`,
 *   free of any framework; refusals are thrown as `AppError('link_invalid')`.
 * - `acceptFileName(name)` → the NFC form, or `AppError('invalid_name')` with `fields.reason`.
 * - `requestedRange(headers, { bytes, sha256 })` → the positions that `Range` and `If-Range` ask for; `entityTag` → the validator they compare.
 * - `contentDisposition(name, 'inline' | 'attachment')` → an ASCII header value.
 * - `isObjectKey(key)` and `objectKey(...segments)`.
 * - `@moli/objects/contract`: `objectStoreContract(name, makeStore)`, the suite every store passes.
 */
export { answerLink, type LinkAnswer, type LinkRequest } from './answer-link.ts';
export { entityTag, requestedRange } from './byte-range.ts';
export { contentDisposition } from './content-disposition.ts';
export { acceptFileName, faultOf, type NameFault } from './file-name.ts';
export { FolderObjectStore, type FolderObjectStoreOptions } from './folder-store.ts';
export { LINK_PATH, type LinkGrant } from './link-signature.ts';
export { isObjectKey, objectKey } from './object-key.ts';
export type {
  ByteRange,
  LinkReach,
  ListedObject,
  ObjectPage,
  ObjectStore,
  OpenObject,
  PutExpectation,
  SignedLink,
  SignedPut,
  SignGetOptions,
  SignPutOptions,
  StoredObject,
} from './object-store.ts';
export { UNFINISHED_PREFIX } from './s3-bucket.ts';
export { awsConfig, type S3Options } from './s3-client.ts';
export { type S3Fault, S3Unavailable } from './s3-fault.ts';
export { S3ObjectStore } from './s3-store.ts';
