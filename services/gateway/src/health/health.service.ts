import { type ObjectStore, S3Unavailable } from '@moli/objects';
import { Inject, Injectable } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type pg from 'pg';
import { schemaState } from '../database/migrator.ts';
import { OBJECTS, REDIS } from '../tokens.ts';
import { BUILD } from '../version.ts';
import { livingExecutors } from './executors.ts';
import type { Ready, Version } from './health.schema.ts';

/** A dependency that does not answer within this many milliseconds counts as away; probes themselves give up soon after. */
const PROBE_MS = 2_000;

const AWAY = 'cannot be reached';

interface Check {
  readonly ok: boolean;
  readonly detail?: string;
}

/** Settles `work` within PROBE_MS; the reason is one of a few words, since probes are open to everyone. */
async function check(work: () => Promise<unknown>, reasonOf: (error: unknown) => string = () => AWAY): Promise<Check> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<Check>((resolve) => {
    timer = setTimeout(() => resolve({ ok: false, detail: 'no answer' }), PROBE_MS);
  });
  const answer = work().then(
    (): Check => ({ ok: true }),
    (error: unknown): Check => ({ ok: false, detail: reasonOf(error) }),
  );
  const result = await Promise.race([answer, late]);
  clearTimeout(timer);
  return result;
}

/** Looks at what the gateway depends on. */
@Injectable()
export class HealthService {
  constructor(
    @Inject(REDIS) private readonly redis: Redis,
    @Inject(OBJECTS) private readonly objects: ObjectStore,
  ) {}

  async ready(pool: pg.Pool): Promise<Ready> {
    let schema = { wanted: '', found: null as string | null, missing: [] as string[] };
    const [postgres, redis, objects] = await Promise.all([
      check(async () => {
        schema = await schemaState(pool);
      }),
      check(() => this.redis.ping()),
      check(
        () => this.objects.check(),
        (error) => (error instanceof S3Unavailable ? error.fault.replaceAll('_', ' ') : AWAY),
      ),
    ]);
    const current: Check = postgres.ok
      ? schema.missing.length === 0
        ? { ok: true }
        : { ok: false, detail: `not migrated: ${schema.missing.join(', ')}` }
      : { ok: false, detail: 'unknown while postgres is away' };
    // Which of the two stores it is tells an operator where to look.
    const named = objects.ok ? objects : { ...objects, detail: `${this.objects.kind}: ${objects.detail}` };
    const dependencies = { postgres, redis, objects: named, schema: current };
    const ok = Object.values(dependencies).every((dependency) => dependency.ok);
    return { status: ok ? 'ok' : 'unavailable', dependencies, schema: { wanted: schema.wanted, found: schema.found } };
  }

  async version(): Promise<Version> {
    const executors = await livingExecutors(this.redis).catch(() => []);
    // Strengths are words joined by "+": fewer words, weaker sandbox.
    const weakest = executors.toSorted((a, b) => a.sandbox.split('+').length - b.sandbox.split('+').length)[0];
    return {
      ...BUILD,
      runner: weakest?.runner ?? null,
      sandbox: weakest?.sandbox ?? null,
      objectStore: this.objects.kind,
      vectorStore: null,
    };
  }
}
