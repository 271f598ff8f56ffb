import { expect, test } from 'vitest';
import { z } from 'zod';
import { ConfigError, describeConfig, flag, integer, readConfig, variableOf, wordList } from './config.ts';

const Schema = z.object({
  publicUrl: z.url().default('http://localhost').meta({ description: 'Address' }),
  port: integer(0, 65_535).default(8000),
  secret: z.string().min(8).meta({ description: 'Root', secret: true }),
  names: wordList.default([]),
  on: flag.default(false),
  modelName: z
    .string()
    .optional()
    .meta({ aliases: ['model_name'] }),
});

const read = (env: Record<string, string | undefined>) => readConfig(Schema, { MOLI_SECRET: 'long enough', ...env });

test('each field comes from its own variable; blanks count as absent; the result is frozen', () => {
  expect(variableOf('uploadMaxBytes')).toBe('MOLI_UPLOAD_MAX_BYTES');
  const config = read({ MOLI_PORT: ' 81 ', MOLI_NAMES: 'a, b,,c', MOLI_ON: 'yes', MOLI_PUBLIC_URL: '  ', OTHER: 'x' });
  expect(config).toEqual({
    publicUrl: 'http://localhost',
    port: 81,
    secret: 'long enough',
    names: ['a', 'b', 'c'],
    on: true,
  });
  expect(Object.isFrozen(config)).toBe(true);
});

test('an older name is read too, and ours wins', () => {
  expect(read({ model_name: 'old' }).modelName).toBe('old');
  expect(read({ model_name: 'old', MOLI_MODEL_NAME: 'new' }).modelName).toBe('new');
});

test('every bad value is named, in both languages, and no value is shown', () => {
  const fault = (env: Record<string, string | undefined>): ConfigError => {
    try {
      read(env);
    } catch (error) {
      return error as ConfigError;
    }
    throw new Error('no fault');
  };
  expect(fault({ MOLI_SECRET: undefined }).variables).toEqual(['MOLI_SECRET']);
  expect(fault({ MOLI_SECRET: undefined }).detail).toEqual({
    zh: '配置有误：MOLI_SECRET 没有设置。',
    en: 'The configuration is not right: MOLI_SECRET is not set.',
  });
  const both = fault({ MOLI_PORT: '99999', MOLI_SECRET: 'hunter2' });
  expect(both.variables).toEqual(['MOLI_PORT', 'MOLI_SECRET']);
  expect(JSON.stringify(both.detail) + both.message).not.toContain('hunter2');
  for (const port of ['-1', '8e3', '80.5', 'x', '99999999999999999999'])
    expect(fault({ MOLI_PORT: port }).variables).toEqual(['MOLI_PORT']);
});

test('the configuration describes itself', () => {
  expect(describeConfig(Schema)).toEqual([
    {
      variable: 'MOLI_PUBLIC_URL',
      description: 'Address',
      required: false,
      default: 'http://localhost',
      aliases: [],
      secret: false,
    },
    { variable: 'MOLI_PORT', description: '', required: false, default: '8000', aliases: [], secret: false },
    { variable: 'MOLI_SECRET', description: 'Root', required: true, default: undefined, aliases: [], secret: true },
    { variable: 'MOLI_NAMES', description: '', required: false, default: '', aliases: [], secret: false },
    { variable: 'MOLI_ON', description: '', required: false, default: 'false', aliases: [], secret: false },
    {
      variable: 'MOLI_MODEL_NAME',
      description: '',
      required: false,
      default: undefined,
      aliases: ['model_name'],
      secret: false,
    },
  ]);
});
