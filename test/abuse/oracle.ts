import { createHash, randomUUID } from 'node:crypto';
import { type RunLimits, VERDICTS } from '@moli/queue';
import { until } from '@moli/testing';
import { expect } from 'vitest';
import type { ApiClient } from '../../infra/launcher/demo/client.ts';
import type { RunResult } from '../../services/gateway/src/runs/runs.schema.ts';
import type { Stack } from '../support/stack.ts';
import type { Variant } from './expectation.ts';
import { type Inventory, leftOver, takeInventory } from './inventory.ts';
import { Ledger } from './ledger.ts';
import { findSecrets, type Needle, secretsOf } from './needles.ts';

/** How much later than its limit a run may end where other work takes the processors; milliseconds. */
const TOLERANCE_MS = 15_000;
const COME_BACK_MS = 30_000;

/** What the run after a hostile one sees: nothing. */
const CLEAN = {
  code: "import os\nprint([os.listdir(folder) for folder in ('/workspace', '/tmp', '/dev/shm')])",
  stdout: '[[], [], []]\n',
};

/** The rest of a run besides its result: what its artifacts hold. */
export interface Outcome {
  readonly result: RunResult;
  readonly contents: Readonly<Record<string, Buffer>>;
}

/** Runs hostile programs by the public API and holds after each of them what every case owes. */
export class Oracle {
  readonly #stack: Stack;
  readonly #api: ApiClient;
  readonly #other: ApiClient;
  readonly ledger: Ledger;
  readonly #needles: readonly Needle[];
  readonly #words: Readonly<Record<string, string>>;
  #before: Inventory;
  #executor: number;
  /** Outputs searched for secrets. */
  searched = 0;

  private constructor(
    stack: Stack,
    parts: {
      other: ApiClient;
      ledger: Ledger;
      needles: readonly Needle[];
      words: Readonly<Record<string, string>>;
      before: Inventory;
      executor: number;
    },
  ) {
    this.#stack = stack;
    this.#api = stack.api();
    this.#other = parts.other;
    this.ledger = parts.ledger;
    this.#needles = parts.needles;
    this.#words = parts.words;
    this.#before = parts.before;
    this.#executor = parts.executor;
  }

  static async start(stack: Stack): Promise<Oracle> {
    const { key, api: other } = await stack.otherTenant(`neighbour ${randomUUID()}`);
    await fullPool(stack);
    const { services, pid } = await stack.status();
    const executor = services.find(({ name }) => name === 'executor')?.pid ?? 0;
    return new Oracle(stack, {
      other,
      ledger: await Ledger.open(stack),
      needles: await secretsOf(stack, [stack.place.key, key]),
      words: {
        ports: JSON.stringify([stack.place.port, ...services.map(({ port }) => port)]),
        pids: JSON.stringify([pid, ...services.map((service) => service.pid)]),
        dataDir: stack.place.dataDir,
      },
      before: takeInventory(stack, executor),
      executor,
    });
  }

  /** The other tenant. */
  get neighbour(): ApiClient {
    return this.#other;
  }

  get api(): ApiClient {
    return this.#api;
  }

  get needles(): readonly Needle[] {
    return this.#needles;
  }

  async close(): Promise<void> {
    await this.ledger.close();
  }

  /** Runs one variant, then holds its own expectation and the common one. */
  async check(variant: Variant): Promise<Outcome> {
    const inputs = await this.#upload(variant.inputs ?? {});
    const result = await execute(this.#api, {
      code: this.#fill(variant.code),
      limits: variant.limits,
      files: inputs.map(({ id, name }) => ({ id, name })),
    });
    const outcome = { result, contents: await this.#download(result) };
    await this.holdCommon(outcome);
    const next = variant.next ?? CLEAN;
    expect(await execute(this.#other, { code: next.code })).toMatchObject({ verdict: 'ok', stdout: next.stdout });
    for (const { id, content } of inputs) {
      expect((await this.#api.bytes(`/v1/files/${id}/content`)).toString(), 'an uploaded file').toBe(content);
    }
    await this.comesBack();
    return outcome;
  }

  /** A typed verdict within the time, no secret, an audit row. */
  async holdCommon({ result, contents }: Outcome): Promise<void> {
    expect(VERDICTS).toContain(result.verdict);
    expect(result.verdict, result.error?.message).not.toBe('platform_error');
    expect(result.usage.wallMs).toBeLessThanOrEqual(result.limits.wallSeconds * 1_000 + TOLERANCE_MS);
    if (result.verdict !== 'ok') {
      expect(result.error?.explanation.zh).toMatch(/\p{Script=Han}/u);
      expect(result.error?.explanation.en).toMatch(/[a-z]{3}/);
    }
    this.holdSecrets(result, contents);
    expect(await this.ledger.audited(result.runId)).toContain('run.start');
  }

  /** No secret of Moli in what a program could write; the signed links that the caller itself gets are left out. */
  holdSecrets(result: RunResult, contents: Readonly<Record<string, Buffer>>): void {
    const links = result.artifacts.map(({ url, base64, ...rest }) => rest);
    this.searched += 1;
    expect(
      findSecrets(this.#needles, { result: JSON.stringify({ ...result, artifacts: links }), ...contents }),
    ).toEqual([]);
    const raw = Object.entries(result.raw ?? {}).map(([name, text]) => [`raw ${name}`, Buffer.from(text, 'base64')]);
    expect(findSecrets(this.#needles, Object.fromEntries(raw))).toEqual([]);
  }

  /** Until nothing of any run is left: processes, namespaces, groups, mounts, files, objects. */
  async comesBack(): Promise<void> {
    let left: string[] = [];
    await until(
      async () => {
        left = leftOver(this.#before, takeInventory(this.#stack, this.#executor));
        if (left.length === 0) left = await this.ledger.strayObjects();
        return left.length === 0;
      },
      { what: 'the machine is as before', timeoutMs: COME_BACK_MS },
    ).catch(() => expect(left, 'what a run left behind').toEqual([]));
  }

  /** Takes stock anew after a restart of the executor. */
  async startOver(): Promise<void> {
    await fullPool(this.#stack);
    this.#executor = await this.#stack.pidOf('executor');
    this.#before = { ...takeInventory(this.#stack, this.#executor), files: this.#before.files };
  }

  #fill(code: string): string {
    return Object.entries(this.#words).reduce((text, [name, word]) => text.replaceAll(`{{${name}}}`, word), code);
  }

  /** Uploads under a name that the upload accepts; the run gives each its own. */
  async #upload(inputs: Readonly<Record<string, string>>): Promise<{ id: string; name: string; content: string }[]> {
    return Promise.all(
      Object.entries(inputs).map(async ([name, content]) => {
        const form = new FormData();
        form.set('file', new Blob([content]), `${name}.txt`);
        const response = await this.#api.request('/v1/files', { method: 'POST', body: form });
        expect(response.status, await response.clone().text()).toBe(201);
        return { id: ((await response.json()) as { id: string }).id, name, content };
      }),
    );
  }

  /** Every artifact, whole; of several with one name the last. */
  async #download({ artifacts }: RunResult): Promise<Record<string, Buffer>> {
    const contents: Record<string, Buffer> = {};
    for (const { id, name, bytes, sha256 } of artifacts) {
      const content = await this.#api.bytes(`/v1/artifacts/${id}/content`);
      const found = { bytes: content.byteLength, sha256: createHash('sha256').update(content).digest('hex') };
      expect(found, name).toEqual({ bytes, sha256 });
      contents[name] = content;
    }
    return contents;
  }
}

/** The slots of a fresh box come one after the other: stock is taken when all wait. */
async function fullPool(stack: Stack): Promise<void> {
  const port = (await stack.status()).services.find(({ name }) => name === 'executor')?.port;
  await until(
    async () => {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      const body = (await response?.json()) as { sandbox?: { slots: number; idle: number } } | undefined;
      return response?.ok && body?.sandbox?.idle === body?.sandbox?.slots;
    },
    { what: 'all slots are idle', timeoutMs: 60_000 },
  );
}

export interface ExecuteBody {
  readonly code: string;
  readonly limits?: Partial<RunLimits> | undefined;
  readonly files?: readonly { id: string; name: string }[];
  readonly idempotencyKey?: string;
}

/** `POST /v1/code/execute`: whatever the program does, 200 and a result. */
export async function execute(api: ApiClient, body: ExecuteBody): Promise<RunResult> {
  const response = await api.request('/v1/code/execute', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  const text = await response.text();
  expect(response.status, text.slice(0, 500)).toBe(200);
  return JSON.parse(text) as RunResult;
}
