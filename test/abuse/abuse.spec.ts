import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXPECTATIONS } from './expectations.ts';
import { LocalGround } from './local-ground.ts';
import { findSecrets } from './needles.ts';
import { execute, Oracle } from './oracle.ts';
import { verify } from './verify.ts';

let ground: LocalGround;
let oracle: Oracle;
beforeAll(async () => {
  ground = await LocalGround.open();
  oracle = new Oracle(ground);
});
afterAll(() => ground?.close());

describe.each(EXPECTATIONS)('case $id: $what', ({ variants }) => {
  test.each(variants)('$name', async (variant) => {
    verify(variant, await oracle.check(variant));
  });
});

test('the search finds a secret that is there, plain and in other forms', async () => {
  const [needle] = ground.needles;
  expect(ground.needles.length).toBeGreaterThanOrEqual(8);
  const secret = JSON.stringify(needle?.secret);
  const code = `import base64\nprint(${secret})\nprint(${secret}.encode().hex())\nprint(base64.b64encode(b'x' + ${secret}.encode()).decode())`;
  const { stdout } = await execute(ground.api, { code });
  for (const line of stdout.trim().split('\n')) {
    expect(findSecrets([needle as never], { line })).toEqual([`${needle?.where} in line`]);
  }
  expect(oracle.searched).toBe(EXPECTATIONS.flatMap(({ variants }) => variants).length);
});
