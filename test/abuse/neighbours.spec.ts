import { afterAll, beforeAll, expect, test } from 'vitest';
import type { ApiClient } from '../../infra/launcher/demo/client.ts';
import { EXPECTATIONS } from './expectations.ts';
import { LocalGround } from './local-ground.ts';
import { execute, Oracle } from './oracle.ts';

/** Honest work of another tenant: some of everything, well within its limits. */
const HONEST = `import numpy as np, pandas as pd
frame = pd.DataFrame({'a': np.arange(200_000) % 7, 'b': np.arange(200_000)})
print(int(frame.groupby('a')['b'].sum().sum()))
`;
const ANSWER = `${(200_000 * 199_999) / 2}\n`;

let ground: LocalGround;
let oracle: Oracle;
let neighbour: ApiClient;
beforeAll(async () => {
  ground = await LocalGround.open();
  oracle = new Oracle(ground);
  neighbour = ground.neighbour;
});
afterAll(() => ground?.close());

/** How long the neighbour waits for its answer, in milliseconds; the answer has to be right. */
async function timeHonest(): Promise<number> {
  const begun = performance.now();
  expect(await execute(neighbour, { code: HONEST })).toMatchObject({ verdict: 'ok', stdout: ANSWER });
  return performance.now() - begun;
}

const variantsOf = (id: number) => EXPECTATIONS.find((one) => one.id === id)?.variants ?? [];

test.each([
  ...variantsOf(1).filter(({ name }) => /threads/.test(name)),
  ...variantsOf(4),
  ...variantsOf(13).slice(0, 2),
  ...variantsOf(32).slice(0, 2),
])('beside "$name", another tenant’s run ends well', async (variant) => {
  const solo = await timeHonest();
  const hostile = { code: variant.code, limits: { ...variant.limits, wallSeconds: 2 } };
  let over = false;
  const bombs = Promise.all([1, 2].map(() => execute(ground.api, hostile))).finally(() => {
    over = true;
  });
  const beside: number[] = [];
  while (!over) beside.push(await timeHonest());
  for (const { verdict } of await bombs) expect(verdict).not.toBe('platform_error');
  const slowest = Math.max(...beside);
  // Numbers belong to a quiet machine: they are shown, not held.
  console.info(`neighbour of "${variant.name}": alone ${solo.toFixed(0)} ms, beside at most ${slowest.toFixed(0)} ms`);
  await oracle.comesBack();
});

test('two runs at once see neither files, processes nor memory of each other', async () => {
  const code = (own: string) => `import ctypes, os, time
for folder in ('/workspace', '/tmp', '/dev/shm'): open(f'{folder}/${own}', 'w').write('x')
time.sleep(1)
print([os.listdir(folder) for folder in ('/workspace', '/tmp', '/dev/shm')], os.getpid())
libc = ctypes.CDLL(None, use_errno=True)
print([libc.syscall(101, 16, pid, 0, 0) for pid in range(2, 300)].count(0))
seen = []
for pid in range(2, 300):
    try: os.kill(pid, 0); seen.append(pid)
    except OSError: pass
print(seen)
`;
  const [mine, other] = await Promise.all([
    execute(ground.api, { code: code('mine') }),
    execute(neighbour, { code: code('other') }),
  ]);
  expect(mine.stdout).toBe("[['mine'], ['mine'], ['mine']] 1\n0\n[]\n");
  expect(other.stdout).toBe("[['other'], ['other'], ['other']] 1\n0\n[]\n");
});

test('runs forked from one zygote draw different numbers, names and ids', async () => {
  const code = `import os, random, secrets, tempfile, uuid
import numpy as np
print(random.random(), random.getrandbits(64), np.random.rand(), np.random.default_rng().random(), uuid.uuid4(), uuid.uuid1(), secrets.token_hex(), tempfile.mktemp(), os.urandom(8).hex())
`;
  const results = await Promise.all(Array.from({ length: 12 }, () => execute(ground.api, { code })));
  const columns = results.map(({ stdout }) => stdout.trim().split(' '));
  expect(columns[0]).toHaveLength(9);
  for (const at of columns[0]?.keys() ?? []) expect(new Set(columns.map((row) => row[at])).size).toBe(results.length);
});
