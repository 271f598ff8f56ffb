import { type ObjectStore, S3ObjectStore } from '@moli/objects';
import type { Installation } from './installation.ts';
import { type Forward, forward } from './kubectl.ts';

/** The bucket of an evaluation install, through a door of its own. Close the door when done. */
export async function openObjects(installation: Installation): Promise<{ store: ObjectStore; door: Forward }> {
  const { release, namespace } = installation.place;
  const door = await forward(namespace, `service/${release}-s3`, 8333);
  const secrets = await installation.secret(`${release}-secrets`);
  const store = new S3ObjectStore({
    endpoint: `http://127.0.0.1:${door.port}`,
    region: 'us-east-1',
    bucket: 'moli',
    accessKey: secrets['s3-access-key'] ?? '',
    secretKey: secrets['s3-secret-key'] ?? '',
    pathStyle: true,
    encryption: 'none',
  });
  return { store, door };
}
