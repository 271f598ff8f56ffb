import { createHash } from 'node:crypto';
import { type RunLimits, VERDICTS } from '@moli/queue';
import { until } from '@moli/testing';
import { expect } from 'vitest';
import type { ApiClient } from '../../infra/launcher/demo/client.ts';
import type { RunResult } from '../../services/gateway/src/runs/runs.schema.ts';
import type { Variant } from './expectation.ts';
import type { Ground } from './ground.ts';
import { findSecrets } from './needles.ts';

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
  readonly #ground: Ground;
  /** Outputs searched for secrets. */
  searched = 0;

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  /** Runs one variant, then holds its own expectation and the common one. */
  async check(variant: Variant): Promise<Outcome> {
    const inputs = await this.#upload(variant.inputs ?? {});
    const result = await execute(this.#ground.api, {
      code: this.#fill(variant.code),
      limits: variant.limits,
      files: inputs.map(({ id, name }) => ({ id, name })),
    });
    const outcome = { result, contents: await this.#download(result) };
    await this.holdCommon(outcome);
    const { costly, neighbour } = this.#ground;
    const next = variant.next ?? (costly ? undefined : CLEAN);
    if (next) {
      expect(await execute(neighbour, { code: next.code })).toMatchObject({ verdict: 'ok', stdout: next.stdout });
    }
    for (const { id, content } of inputs) {
      expect((await this.#ground.api.bytes(`/v1/files/${id}/content`)).toString(), 'an uploaded file').toBe(content);
    }
    if (!costly) await this.comesBack();
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
    expect(await this.#ground.books.audited(result.runId)).toContain('run.start');
  }

  /** No secret of Moli in what a program could write; the signed links that the caller itself gets are left out. */
  holdSecrets(result: RunResult, contents: Readonly<Record<string, Buffer>>): void {
    const links = result.artifacts.map(({ url, base64, ...rest }) => rest);
    this.searched += 1;
    expect(
      findSecrets(this.#ground.needles, { result: JSON.stringify({ ...result, artifacts: links }), ...contents }),
    ).toEqual([]);
    const raw = Object.entries(result.raw ?? {}).map(([name, text]) => [`raw ${name}`, Buffer.from(text, 'base64')]);
    expect(findSecrets(this.#ground.needles, Object.fromEntries(raw))).toEqual([]);
  }

  /** Until nothing of any run is left, neither on the machines nor among the objects. */
  async comesBack(): Promise<void> {
    let left: string[] = [];
    await until(
      async () => {
        left = await this.#ground.leftBehind();
        if (left.length === 0) left = await this.#ground.books.strayObjects();
        return left.length === 0;
      },
      { what: 'the machine is as before', timeoutMs: COME_BACK_MS },
    ).catch(() => expect(left, 'what a run left behind').toEqual([]));
  }

  #fill(code: string): string {
    return Object.entries(this.#ground.words).reduce(
      (text, [name, word]) => text.replaceAll(`{{${name}}}`, word),
      code,
    );
  }

  /** Uploads under a name that the upload accepts; the run gives each its own. */
  async #upload(inputs: Readonly<Record<string, string>>): Promise<{ id: string; name: string; content: string }[]> {
    return Promise.all(
      Object.entries(inputs).map(async ([name, content]) => {
        const form = new FormData();
        form.set('file', new Blob([content]), `${name}.txt`);
        const response = await this.#ground.api.request('/v1/files', { method: 'POST', body: form });
        expect(response.status, await response.clone().text()).toBe(201);
        return { id: ((await response.json()) as { id: string }).id, name, content };
      }),
    );
  }

  /** Every artifact, whole; of several with one name the last. */
  async #download({ artifacts }: RunResult): Promise<Record<string, Buffer>> {
    const contents: Record<string, Buffer> = {};
    for (const { id, name, bytes, sha256 } of artifacts) {
      const content = await this.#ground.api.bytes(`/v1/artifacts/${id}/content`);
      const found = { bytes: content.byteLength, sha256: createHash('sha256').update(content).digest('hex') };
      expect(found, name).toEqual({ bytes, sha256 });
      contents[name] = content;
    }
    return contents;
  }
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
