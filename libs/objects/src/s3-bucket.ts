import { randomUUID } from 'node:crypto';
import { type Client, type LifecycleConfig } from 'minio';
import { encryptionHeaders } from './s3-client.ts';
import type { S3Door } from './s3-door.ts';
import { codeOf, S3Unavailable } from './s3-fault.ts';

/** Below it lie uploads that people have not finished, in whatever form the owner of uploads keeps them. */
export const UNFINISHED_PREFIX = 'unfinished/';
/** Objects that a start writes to see whether it may, and removes; one that a crash leaves there is swept with the uploads. */
const PROBE_PREFIX = `${UNFINISHED_PREFIX}probe-`;

export interface BucketState {
  readonly made: boolean;
  /** `set`: the server too removes what was never finished; `foreign`: the bucket has rules of its operator, which stay; `unsupported`: our sweep alone. */
  readonly lifecycle: 'set' | 'foreign' | 'unsupported';
}

/**
 * Makes the bucket where it is missing and tries on it what we will do: list, write, refuse a second write, encrypt, delete.
 * Errors: `S3Unavailable` that says which of it is not possible.
 */
export async function prepareBucket(door: S3Door, unfinishedDays: number): Promise<BucketState> {
  const made = await makeIfMissing(door);
  await probe(door);
  return { made, lifecycle: await setLifecycle(door, unfinishedDays) };
}

async function makeIfMissing(door: S3Door): Promise<boolean> {
  const { bucket, options } = door;
  try {
    // A listing and not HEAD: its refusal has a body that says why.
    await door.run((client) => client.listObjectsV2Query(bucket, PROBE_PREFIX, '', '', 1, ''));
    return false;
  } catch (error) {
    if (!(error instanceof S3Unavailable) || codeOf(error.cause) !== 'NoSuchBucket') throw error;
  }
  try {
    await door.run((client) => client.makeBucket(bucket, options.region));
    return true;
  } catch (error) {
    // Another replica that starts at the same moment made it.
    if (error instanceof S3Unavailable && codeOf(error.cause) === 'BucketAlreadyOwnedByYou') return false;
    if (error instanceof S3Unavailable && error.fault === 'no_access')
      throw new S3Unavailable('no_bucket', { cause: error.cause });
    throw error;
  }
}

async function probe(door: S3Door): Promise<void> {
  const { bucket } = door;
  const { encryption } = door.options;
  const key = `${PROBE_PREFIX}${randomUUID()}`;
  const data = Buffer.from('moli');
  const headers = { 'if-none-match': '*', ...encryptionHeaders(door.options) };
  const write = (client: Client) => client.putObject(bucket, key, data, data.length, { ...headers });
  await door.run(write).catch((error: unknown) => {
    // Servers without keys for it answer NotImplemented, InvalidArgument or 500; that they list is known by now.
    const unknown = error instanceof S3Unavailable && (error.fault === 'refused' || error.fault === 'busy');
    throw unknown && encryption !== 'none' ? new S3Unavailable('not_encrypted', { cause: error.cause }) : error;
  });
  try {
    const second = await door.run(write).then(
      () => 'written',
      (error: unknown) => codeOf((error as Error).cause),
    );
    if (second !== 'PreconditionFailed')
      throw new S3Unavailable('not_conditional', { cause: new Error(`a second write gave ${second}`) });
    const { metaData } = await door.run((client) => client.statObject(bucket, key));
    // A server may take the header and ignore it.
    if (encryption !== 'none' && metaData['x-amz-server-side-encryption'] !== encryption)
      throw new S3Unavailable('not_encrypted');
  } finally {
    await door.run((client) => client.removeObject(bucket, key));
  }
}

/** Rules that an operator set are left as they are: writing ours would replace them. */
async function setLifecycle(door: S3Door, days: number): Promise<BucketState['lifecycle']> {
  const { bucket } = door;
  const present = await door
    .run((client) => client.getBucketLifecycle(bucket), 1)
    .catch((error: unknown) => {
      if (codeOf((error as Error).cause) === 'NoSuchLifecycleConfiguration') return null;
      return 'unsupported' as const;
    });
  if (present === 'unsupported') return 'unsupported';
  const wanted = rules(days);
  if (present && !isOurs(present)) return 'foreign';
  return door
    .run((client) => client.setBucketLifecycle(bucket, wanted), 1)
    .then(
      () => 'set' as const,
      () => 'unsupported' as const,
    );
}

function rules(days: number): LifecycleConfig {
  return {
    Rule: [
      {
        ID: 'moli-unfinished-parts',
        Status: 'Enabled',
        Filter: { Prefix: '' },
        AbortIncompleteMultipartUpload: { DaysAfterInitiation: days },
      },
      {
        ID: 'moli-unfinished-uploads',
        Status: 'Enabled',
        Filter: { Prefix: UNFINISHED_PREFIX },
        Expiration: { Days: days },
      },
    ],
  } as unknown as LifecycleConfig;
}

function isOurs({ Rule }: LifecycleConfig): boolean {
  const all = (Array.isArray(Rule) ? Rule : [Rule]) as readonly { ID?: string }[];
  return all.every((rule) => (rule?.ID ?? '').startsWith('moli-'));
}
