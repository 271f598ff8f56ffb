import { randomUUID } from 'node:crypto';
import { type ObjectStore, UNFINISHED_PREFIX } from '@moli/objects';
import pg from 'pg';
import type { ApiClient } from '../../../infra/launcher/demo/client.ts';
import type { Books, Ground } from '../../abuse/ground.ts';
import type { Needle } from '../../abuse/needles.ts';
import type { Installation } from './installation.ts';
import { containersOf, type Forward, forward, get, podsOf } from './kubectl.ts';
import { openObjects } from './objects.ts';

/** Shorter values of Secrets are names, not secrets, and would be found by chance. */
const SHORTEST = 8;

/** A release on a cluster: what runs leave behind are Pods. */
export class ClusterGround implements Ground {
  readonly costly = true;
  readonly api: ApiClient;
  readonly neighbour: ApiClient;
  readonly books: ClusterBooks;
  readonly needles: readonly Needle[];
  readonly words: Readonly<Record<string, string>>;
  readonly #installation: Installation;

  private constructor(
    installation: Installation,
    parts: Pick<Ground, 'neighbour' | 'needles' | 'words'> & { books: ClusterBooks },
  ) {
    this.#installation = installation;
    this.api = installation.api();
    this.neighbour = parts.neighbour;
    this.books = parts.books;
    this.needles = parts.needles;
    this.words = parts.words;
  }

  static async open(installation: Installation): Promise<ClusterGround> {
    const { key, api: neighbour } = await installation.otherTenant(`neighbour ${randomUUID()}`);
    return new ClusterGround(installation, {
      neighbour,
      books: await ClusterBooks.open(installation),
      needles: [
        ...(await secretsOf(installation)),
        ...[installation.place.key, key].map((secret, at) => ({ where: `API key ${at}`, secret })),
      ],
      words: {
        // Gateway, health, couriers, Postgres, Redis, S3, the kubelet and the API server.
        ports: JSON.stringify([8000, 8100, 9443, 5432, 6379, 8333, 10250, 6443, 443]),
        pids: JSON.stringify([1, 2, 3, 4, 5, 10, 20]),
        dataDir: '/outbox',
      },
    });
  }

  /** A used Pod that is still there. */
  async leftBehind(): Promise<string[]> {
    const pods = await podsOf(this.#installation.place.sandboxNamespace);
    return pods.flatMap((pod) => {
      const { metadata, status } = pod;
      const ended = containersOf(pod).some(({ state, restartCount }) => state.terminated || restartCount > 0);
      if (metadata.deletionTimestamp) return `Pod ${metadata.name} is still being deleted`;
      return ended || status.phase === 'Failed' ? `Pod ${metadata.name} was used` : [];
    });
  }

  async close(): Promise<void> {
    await this.books.close();
  }
}

/** Every value of every Secret of the release. */
async function secretsOf({ place }: Installation): Promise<Needle[]> {
  const { items } = await get<{ items: { metadata: { name: string }; type: string; data?: Record<string, string> }[] }>(
    ['secrets', '-n', place.namespace],
  );
  return (
    items
      // What helm keeps is the chart itself.
      .filter(({ type }) => type !== 'helm.sh/release.v1')
      .flatMap(({ metadata, data }) =>
        Object.entries(data ?? {}).map(([name, value]) => ({
          where: `secret ${metadata.name}: ${name}`,
          secret: Buffer.from(value, 'base64').toString(),
        })),
      )
      .filter(({ where, secret }) => secret.length >= SHORTEST && !/\.crt$/.test(where))
  );
}

/** The database and the bucket, through doors of their own. */
export class ClusterBooks implements Books {
  readonly #pool: pg.Pool;
  readonly #objects: ObjectStore;
  readonly #doors: readonly Forward[];

  private constructor(pool: pg.Pool, objects: ObjectStore, doors: readonly Forward[]) {
    this.#pool = pool;
    this.#objects = objects;
    this.#doors = doors;
  }

  static async open(installation: Installation): Promise<ClusterBooks> {
    const { release, namespace } = installation.place;
    const door = await forward(namespace, `service/${release}-postgres`, 5432);
    const { postgres: password } = await installation.secret(`${release}-secrets`);
    const pool = new pg.Pool({ host: '127.0.0.1', port: door.port, user: 'postgres', database: 'moli', password });
    // Its door closes when the Pod is replaced; the next query says so.
    pool.on('error', () => {});
    const objects = await openObjects(installation);
    return new ClusterBooks(pool, objects.store, [door, objects.door]);
  }

  async audited(target: string): Promise<string[]> {
    const { rows } = await this.#pool.query('select action from audit where target = $1 order by at, id', [target]);
    return rows.map(({ action }) => String(action));
  }

  async strayObjects(): Promise<string[]> {
    const { rows } = await this.#pool.query('select object_key from artifacts union all select object_key from files');
    const known = new Set(rows.map(({ object_key }) => String(object_key)));
    // An upload that is over stays for a while, for a client that did not get the last answer.
    const stored = new Set<string>();
    for (let after: string | undefined, more = true; more; ) {
      const page = await this.#objects.list('', after === undefined ? {} : { after });
      for (const { key } of page.items) if (!key.startsWith(UNFINISHED_PREFIX)) stored.add(key);
      after = page.next ?? undefined;
      more = page.next !== null;
    }
    return [
      ...[...stored].filter((key) => !known.has(key)).map((key) => `stray ${key}`),
      ...[...known].filter((key) => !stored.has(key)).map((key) => `missing ${key}`),
    ];
  }

  async query<T>(text: string, values: readonly unknown[] = []): Promise<T[]> {
    const { rows } = await this.#pool.query(text, [...values]);
    return rows as T[];
  }

  async close(): Promise<void> {
    await this.#pool.end();
    for (const door of this.#doors) door.close();
  }
}
