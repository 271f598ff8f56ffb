import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { type Lock, packagesOutside } from './packages-outside.ts';

const LOCK: Lock = {
  packages: {
    '': {},
    'services/door': { dependencies: { '@moli/log': '1', bundled: '1', driver: '2' } },
    'libs/log': { dependencies: { tracer: '1' } },
    'node_modules/@moli/log': { link: true, resolved: 'libs/log' },
    'node_modules/bundled': { dependencies: { 'only-bundled': '1' } },
    'node_modules/only-bundled': {},
    'node_modules/driver': { dependencies: { pool: '1' } },
    'services/door/node_modules/driver': {
      dependencies: { pool: '1', '@types/node': '1' },
      optionalDependencies: { 'for-another-system': '1', fast: '1' },
      peerDependencies: { tracer: '1', 'not-asked-for': '1' },
      peerDependenciesMeta: { 'not-asked-for': { optional: true } },
    },
    'services/door/node_modules/driver/node_modules/pool': {},
    'node_modules/pool': {},
    'node_modules/fast': { optional: true },
    'node_modules/tracer': {},
    'node_modules/@types/node': {},
  },
};

test('what the bundler leaves outside is found as Node finds it, with what it needs', () => {
  expect(packagesOutside(LOCK, 'services/door', (id) => ['driver', 'tracer'].includes(id))).toEqual([
    'node_modules/fast',
    'node_modules/tracer',
    'services/door/node_modules/driver',
    'services/door/node_modules/driver/node_modules/pool',
  ]);
});

test('a package that the lock file does not hold stops the build', () => {
  const lock: Lock = { packages: { 'services/door': { dependencies: { driver: '1' } } } };
  expect(() => packagesOutside(lock, 'services/door', () => true)).toThrow('driver, which services/door needs');
});

test('the services: no package of the build, and what is looked up by name at run time', async () => {
  const root = new URL('../../', import.meta.url);
  const lock = JSON.parse(readFileSync(new URL('package-lock.json', root), 'utf8')) as Lock;
  const { default: config } = await import(new URL('services/gateway/rolldown.config.ts', root).href);
  const paths = packagesOutside(lock, 'services/gateway', config.external);
  expect(paths).toEqual(expect.arrayContaining(['node_modules/pg', 'node_modules/gpt-tokenizer']));
  expect(paths.filter((path) => /rolldown|vite|typescript|@nestjs|@moli/.test(path))).toEqual([]);
});
