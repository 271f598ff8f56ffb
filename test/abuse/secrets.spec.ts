import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Stack } from '../support/stack.ts';
import { LocalGround } from './local-ground.ts';
import { findSecrets } from './needles.ts';
import { execute } from './oracle.ts';

const stack = Stack.shared();
let ground: LocalGround;
beforeAll(async () => {
  ground = await LocalGround.open();
});
afterAll(() => ground?.close());

const CANARY = 'canary-of-the-program';

/** A run with an input, an artifact and every way of going wrong loudly. */
async function noisyRun() {
  const form = new FormData();
  form.set('file', new Blob([`a,b\n${CANARY},2\n`]), 'in.csv');
  const { id } = (await (await ground.api.request('/v1/files', { method: 'POST', body: form })).json()) as {
    id: string;
  };
  const code = `import sys\nprint('${CANARY}')\nprint('${CANARY}', file=sys.stderr)\nopen('out.txt', 'w').write('${CANARY}')\nraise ValueError('${CANARY}')`;
  return execute(ground.api, { code, files: [{ id, name: 'in.csv' }] });
}

function logs(): Record<string, string> {
  const folder = join(stack.place.dataDir, 'logs');
  return Object.fromEntries(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
}

test('case 42: links are bound to one object, one method and their signature', async () => {
  const { artifacts } = await noisyRun();
  const url = artifacts[0]?.url ?? '';
  const link = new URL(url);
  link.hostname = '127.0.0.1';
  expect(await (await fetch(link)).text()).toBe(CANARY);
  const other = new URL(link);
  other.pathname = other.pathname.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
  const bare = new URL(link);
  bare.search = '';
  const altered = [...link.searchParams.keys()].map((name) => {
    const changed = new URL(link);
    changed.searchParams.set(name, `${changed.searchParams.get(name)?.slice(0, -1)}x`);
    return changed;
  });
  expect(altered.length).toBeGreaterThan(1);
  for (const refused of [other, bare, ...altered]) expect((await fetch(refused)).status, String(refused)).toBe(403);
  for (const method of ['PUT', 'POST', 'DELETE']) {
    const { status } = await fetch(link, { method, ...(method === 'DELETE' ? {} : { body: 'overwritten' }) });
    expect([403, 404, 405], method).toContain(status);
  }
  expect(await (await fetch(link)).text()).toBe(CANARY);
});

test('case 42: neither logs nor audit hold a secret, a signed link, or what a program wrote', async () => {
  const { artifacts } = await noisyRun();
  const texts = { ...logs(), audit: await ground.books.auditText() };
  expect(Object.keys(texts)).toEqual(expect.arrayContaining(['gateway.log', 'executor.log', 'audit']));
  expect(findSecrets(ground.needles, texts)).toEqual([]);
  const signatures = artifacts.flatMap(({ url }) =>
    [...new URL(url).searchParams.values()].filter((value) => value.length > 20),
  );
  expect(signatures.length).toBeGreaterThan(0);
  for (const [name, text] of Object.entries(texts)) {
    expect(text.includes(CANARY), `${name} holds what a program wrote`).toBe(false);
    expect(/\/objects\/\S+\?/.exec(text)?.[0], `${name} holds a signed link`).toBeUndefined();
    for (const signature of signatures) expect(text.includes(signature), name).toBe(false);
  }
});
