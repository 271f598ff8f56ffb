import { createHash } from 'node:crypto';
import {
  OBJECT_STORES,
  startObjects,
  startTestGateway,
  type TestGateway,
  type TestTenant,
} from '../gateway.fixture.ts';

export const MIB = 1024 * 1024;

export const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

/** Where files go in and out: a gateway of the suite's own, its first key, and a tenant that must see nothing of it. */
export interface FilesWorld {
  readonly gateway: TestGateway;
  readonly key: string;
  readonly other: TestTenant;
  close(): Promise<void>;
}

/** The same with objects in each of the two places: a suite runs once on both. */
export async function filesWorld(kind: (typeof OBJECT_STORES)[number]): Promise<FilesWorld> {
  const objects = await startObjects(kind);
  const gateway = await startTestGateway(objects.env);
  return {
    gateway,
    key: gateway.first.key ?? '',
    other: await gateway.newTenant('other'),
    close: async () => {
      await gateway.close();
      await objects.stop();
    },
  };
}
