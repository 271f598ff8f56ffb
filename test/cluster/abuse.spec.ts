import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXPECTATIONS } from '../abuse/expectations.ts';
import { execute, Oracle } from '../abuse/oracle.ts';
import { systemCallCases } from '../abuse/system-calls.ts';
import { verify } from '../abuse/verify.ts';
import { ClusterGround } from './support/cluster-ground.ts';
import { Installation } from './support/installation.ts';

let ground: ClusterGround;
let oracle: Oracle;
beforeAll(async () => {
  ground = await ClusterGround.open(Installation.shared());
  oracle = new Oracle(ground);
});
afterAll(() => ground?.close());

describe.concurrent.each(EXPECTATIONS)('case $id: $what', ({ variants }) => {
  test.concurrent.each(variants)('$name', async (variant) => {
    verify(variant, await oracle.check(variant));
  });
});

systemCallCases(
  () => ground,
  async () => {},
);

test('every Pod that a hostile program ran in is gone, and the sandboxes still work', async () => {
  expect(oracle.searched).toBe(EXPECTATIONS.flatMap(({ variants }) => variants).length);
  await oracle.comesBack();
  expect(await execute(ground.api, { code: 'print(6 * 7)' })).toMatchObject({ verdict: 'ok', stdout: '42\n' });
});
