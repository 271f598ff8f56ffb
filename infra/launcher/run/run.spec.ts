import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { findProcess } from '@moli/processes';
import { testFolder } from '@moli/testing';
import { expect, test } from 'vitest';
import { Failure } from '../failure.ts';
import { dataFolder } from '../paths.ts';
import { localeOf } from '../words.ts';
import { LogFile } from './log-file.ts';
import { readSecrets } from './secrets.ts';
import { isModelName, modelAdvice, pick, readSettings } from './settings.ts';
import { holderOf, releaseLock, takeLock } from './state.ts';

test('secrets are made once, closed to others, and never replaced when damaged', () => {
  const path = join(testFolder('secrets'), 'secrets.json');
  const made = readSecrets(path);
  expect(readSecrets(path)).toEqual(made);
  expect(new Set(Object.values(made)).size).toBe(6);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  writeFileSync(path, '{"root": "short"}');
  expect(() => readSecrets(path)).toThrow(Failure);
  expect(readFileSync(path, 'utf8')).toBe('{"root": "short"}');
});

test('the environment comes before .env of the data folder; other names of the model are read', () => {
  const folder = dataFolder(testFolder('settings'));
  writeFileSync(folder.env, 'api_base=http://a/v1\napi_key="k"\nMOLI_PORT=9000\n');
  expect(readSettings(folder, { MOLI_PORT: '9001', EMPTY: '' })).toMatchObject({
    MOLI_PORT: '9001',
    api_base: 'http://a/v1',
    api_key: 'k',
  });
  expect(modelAdvice(readSettings(folder, {}))?.en).toContain('MOLI_MODEL_NAME missing');
  expect(modelAdvice(readSettings(folder, { model_name: 'm' }))).toBeUndefined();
  expect(modelAdvice({}, false)?.en).toContain('No model is configured');
  expect(modelAdvice({}, true)).toBeUndefined();
  expect(modelAdvice({ model_name: 'm' }, true)?.en).toContain('MOLI_MODEL_BASE_URL, MOLI_MODEL_API_KEY missing');
  expect(modelAdvice({})?.en).toContain('in the workbench');
});

test('a service sees the settings that are its own and those of the machine', () => {
  const settings = { PATH: '/bin', AWS_SECRET: 'x', MOLI_LOG_LEVEL: 'info', MOLI_SECRET: 's', api_key: 'k' };
  expect(pick(settings, (name) => name === 'MOLI_LOG_LEVEL')).toEqual({ PATH: '/bin', MOLI_LOG_LEVEL: 'info' });
  expect(pick(settings, isModelName)).toEqual({ PATH: '/bin', api_key: 'k' });
});

test('a log is turned over by size and keeps three older ones', () => {
  const folder = testFolder('logs');
  const log = new LogFile(folder, 'x');
  const piece = Buffer.alloc(4 * 1024 * 1024, 'a');
  for (let n = 0; n < 20; n += 1) log.write(piece);
  log.write('the end\n');
  const size = (name: string) => statSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0;
  expect(
    ['x.log', 'x.log.1', 'x.log.2', 'x.log.3'].every((name) => size(name) > 0 && size(name) <= 10 * 1024 * 1024),
  ).toBe(true);
  expect(size('x.log.4')).toBe(0);
  expect(log.lastLines(1)[0]).toMatch(/the end$/);
  log.close();
});

test('a data folder has one holder; a dead one is no holder', () => {
  const folder = dataFolder(testFolder('lock'));
  mkdirSync(folder.dir, { recursive: true });
  // pid 1 lives, but has not started at this time: the process that took the lock is gone and its pid was used again.
  writeFileSync(folder.lock, JSON.stringify({ pid: 1, startTicks: -5 }));
  expect(holderOf(folder)).toBeUndefined();
  expect(takeLock(folder)).toBeUndefined();
  const own = findProcess(process.pid);
  expect(holderOf(folder)).toEqual(own);
  expect(takeLock(folder)).toEqual(own);
  releaseLock(folder);
  expect(holderOf(folder)).toBeUndefined();
});

test('the language is that of the terminal', () => {
  expect(localeOf({ LANG: 'zh_CN.UTF-8' })).toBe('zh');
  expect(localeOf({ LANG: 'zh_CN.UTF-8', LC_ALL: 'C' })).toBe('en');
  expect(localeOf({})).toBe('en');
});
