import { DEFAULT_LIMITS, type RunOutcome } from '@moli/queue';
import { expect, test } from 'vitest';
import { headAndTail, outputText, reportForModel } from './run-report.ts';

const outcome = (change: Partial<RunOutcome> = {}): RunOutcome => ({
  runId: 'run_1',
  verdict: 'ok',
  exitCode: 0,
  signal: null,
  stdout: '',
  stderr: '',
  truncated: { stdout: false, stderr: false },
  display: [],
  artifacts: [],
  skipped: [],
  error: null,
  limits: DEFAULT_LIMITS,
  usage: { wallMs: 1, cpuMs: 1, maxMemoryBytes: 1, outputBytes: 1 },
  timings: { queueMs: 0, claimMs: 0, stageMs: 0, runMs: 0, collectMs: 0 },
  runner: 'local',
  sandbox: 'userns',
  ...change,
});
const artifact = { id: 'art_1', name: '趋势.png', mimeType: 'image/png', bytes: 4821, sha256: 'x' };

test('a progress bar is its last state, at most 500 characters', () => {
  const bar = Array.from({ length: 2000 }, (_, i) => `\r${i}%|${'█'.repeat(40)}| ${i}/2000 [00:01<00:00]`).join('');
  const report = reportForModel(outcome({ stderr: `${bar}\n`, stdout: 'done\n' }), 'zh');
  expect(report).toContain('done');
  expect(report).toContain('1999%');
  expect(report).not.toContain(' 42/2000');
  expect(outputText(bar, 8000).length).toBeLessThanOrEqual(500);
  const bars = Array.from({ length: 50 }, (_, k) => `${bar}${k}\n`).join('');
  expect(outputText(bars, 8000).length).toBeLessThanOrEqual(500);
});

test('carriage returns of Windows text are no progress bar', () => {
  expect(outputText('a\r\nb\r\n', 100)).toBe('a\nb');
});

test('long output keeps its start and its end', () => {
  const text = `START${'x'.repeat(50_000)}END`;
  const report = reportForModel(outcome({ stdout: text, truncated: { stdout: true, stderr: false } }), 'en');
  expect(report.length).toBeLessThan(9000);
  expect(report).toMatch(/START[\s\S]*characters left out[\s\S]*END/);
  expect(report).toContain('cut at the output limit');
  expect(headAndTail('🌍'.repeat(100), 101).isWellFormed()).toBe(true);
});

test('no base64, wherever the program put it', () => {
  const base64 = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * 37) % 251)).toString('base64');
  const error = { name: 'ValueError', message: base64, line: 1, traceback: base64, explanation: { zh: '', en: '' } };
  const report = reportForModel(
    outcome({
      stdout: `data:image/png;base64,${base64}`,
      stderr: base64,
      display: [{ mimeType: 'text/plain', text: base64 }],
      error,
      verdict: 'user_error',
    }),
    'zh',
  );
  expect(report).not.toMatch(/[A-Za-z0-9+/]{201,}/);
  expect(report).toContain('base64 left out');
});

test('base64 in lines, as MIME wraps it, is left out too', () => {
  const base64 = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * 37) % 251)).toString('base64');
  const report = reportForModel(outcome({ stdout: `before\n${base64.replace(/.{76}/g, '$&\n')}\nafter` }), 'zh');
  expect(report).toMatch(/before\n\[\d+ characters of base64 left out\]\s*after/);
  const rule = `${'-'.repeat(300)}\n${'abc_'.repeat(100)}`;
  expect(outputText(rule, 8000)).toBe(rule);
});

test('charts and files are named, not shown', () => {
  const report = reportForModel(
    outcome({
      artifacts: [artifact],
      display: [{ mimeType: 'image/png', artifactId: 'art_1' }],
      skipped: [{ name: 'link', reason: 'symlink' }],
    }),
    'zh',
  );
  expect(report).toContain('is shown to the user: 趋势.png');
  expect(report).toContain('趋势.png (4821 bytes)');
  expect(report).toContain('link (symlink)');
});

test('a table is small text with its whole size', () => {
  const table = {
    columns: Array.from({ length: 50 }, (_, i) => ({ name: `c${i}`, type: 'int' })),
    rows: Array.from({ length: 100 }, (_, i) => Array.from({ length: 50 }, () => (i === 0 ? 'a\tb\nc' : i))),
    totalRows: 12_345,
    totalColumns: 50,
  };
  const report = reportForModel(outcome({ display: [{ mimeType: 'application/vnd.moli.table+json', table }] }), 'en');
  expect(report).toContain('Table of 12345 rows and 50 columns, first 20 rows and 20 columns');
  expect(report).toContain('a b c');
  expect(report.length).toBeLessThan(3500);
});

test('an error comes with its explanation in the language of the reader and its traceback once', () => {
  const traceback = `Traceback (most recent call last):\n  File "main.py", line 4\nKeyError: '销售额'`;
  const error = {
    name: 'KeyError',
    message: "'销售额'",
    line: 4,
    traceback,
    explanation: { zh: '没有这一列；有：金额', en: 'No such column; there are: 金额' },
  };
  const run = outcome({ verdict: 'user_error', exitCode: 1, stderr: `warn\n${traceback}\n`, error });
  const zh = reportForModel(run, 'zh');
  expect(zh).toContain('verdict: user_error (exit code 1)');
  expect(zh).toContain('没有这一列');
  expect(zh.split('Traceback (most').length).toBe(2);
  expect(zh).toContain('warn');
  expect(reportForModel(run, 'en')).toContain('No such column');
});

test.each([
  ['timeout_wall', /30 s/],
  ['memory_limit', /512 MiB/],
  ['platform_error', /not of the program/],
  ['cancelled', /cancelled/],
] as const)('the verdict %s is said in words', (verdict, words) => {
  expect(reportForModel(outcome({ verdict, exitCode: null }), 'en')).toMatch(words);
});

test('silence is said', () => {
  expect(reportForModel(outcome(), 'en')).toContain('printed nothing');
});

test('terminal colours are left out', () => {
  expect(outputText('\u001b[31mred\u001b[0m', 100)).toBe('red');
});
