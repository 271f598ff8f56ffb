import { expect, test } from 'vitest';
import { parseCommandLine, portOption, UsageError } from './command-line.ts';

test('commands of one and of two words, options after them', () => {
  expect(parseCommandLine(['up', '--data', '/d', '--port', '9', '--detach'])).toMatchObject({
    command: 'up',
    options: { data: '/d', port: '9', detach: true },
  });
  expect(parseCommandLine(['key', 'create', '--name', 'ci'])).toMatchObject({
    command: 'key create',
    rest: [],
    options: { name: 'ci' },
  });
  expect(parseCommandLine(['test', 'unit', 'int'])).toMatchObject({ command: 'test', rest: ['unit', 'int'] });
  expect(parseCommandLine(['user', 'invite', 'a@b.c', '--role', 'viewer'])).toMatchObject({
    rest: ['a@b.c'],
    options: { role: 'viewer' },
  });
});

test('a tenant may be given a language of its own', () => {
  const argv = ['tenant', 'create', '团队', '--locale', 'zh'];
  expect(parseCommandLine(argv)).toMatchObject({ command: 'tenant create', rest: ['团队'], options: { locale: 'zh' } });
});

test('help is asked for in several ways and names every public command', () => {
  for (const argv of [[], ['help'], ['--help'], ['-h']]) expect(parseCommandLine(argv).help).toContain('./moli up');
  expect(parseCommandLine(['demo', '--help']).help).toContain('--once');
  expect(parseCommandLine([]).help).not.toContain('supervise');
});

test('half a command leads to those that begin with it', () => {
  const help = parseCommandLine(['user', '--help']).help;
  expect(help).toContain('./moli user invite EMAIL');
  expect(help).not.toContain('./moli up');
  const wrong = (argv: string[]) => {
    try {
      parseCommandLine(argv);
    } catch (error) {
      return (error as UsageError).text.en;
    }
    return '';
  };
  expect(wrong(['user', 'remove'])).toMatch(/^There is no command "user remove"\.\n.*user invite/s);
  expect(wrong(['key'])).toMatch(/^There is no command "key"\.\n.*key create/s);
  expect(wrong(['key'])).not.toContain('./moli up');
});

test.each([
  [['frobnicate']],
  [['--frobnicate']],
  [['up', '--frobnicate']],
  [['up', '--port']],
  [['up', 'now']],
  [['tenant', 'create']],
  [['key']],
  [['user', 'invite', 'a@b.c', 'd@e.f']],
])('%j is wrong usage', (argv) => {
  expect(() => parseCommandLine(argv)).toThrow(UsageError);
});

test('a port is a whole number that exists', () => {
  expect(portOption(undefined)).toBeUndefined();
  expect(portOption('8000')).toBe(8000);
  for (const wrong of ['0', '65536', 'x', '80.5', '', '-1']) expect(() => portOption(wrong)).toThrow(UsageError);
});
