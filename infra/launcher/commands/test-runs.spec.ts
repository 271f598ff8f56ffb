import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ROOT } from '../paths.ts';
import { countReport, countUnittest } from './test-runs.ts';

const clean = { numPassedTests: 3, numFailedTests: 0, numPendingTests: 1, numTodoTests: 1, testResults: [] };
const file = { name: join(ROOT, 'libs/a.spec.ts'), status: 'failed', message: '', assertionResults: [] };

test('a file that could not be loaded, a missing report and an odd exit code are failures', () => {
  expect(countReport(clean, 0)).toEqual({ passed: 3, failed: 0, skipped: 2, troubles: [] });
  expect(countReport(clean, 1)).toMatchObject({ failed: 1, troubles: [expect.stringContaining('exit code 1')] });
  expect(countReport(undefined, 0)).toMatchObject({ failed: 1, troubles: [expect.stringContaining('no report')] });
  expect(countReport({ ...clean, testResults: [{ ...file, message: 'SyntaxError: odd' }] }, 1)).toMatchObject({
    failed: 1,
    troubles: ['✗ libs/a.spec.ts\n    SyntaxError: odd'],
  });
});

test('what failed, and what passed only when it was tried again, is named with the first lines it said', () => {
  const said = '\u001b[31mAssertionError\u001b[39m: 1 is not 2\n\n  1\n  2\n  at here\n  at there';
  const assertionResults = [
    { fullName: 'sums add up', status: 'failed', failureMessages: [said] },
    { fullName: 'late', status: 'passed', failureMessages: ['Error: late'] },
    { fullName: 'fine', status: 'passed', failureMessages: [] },
  ];
  const report = { ...clean, numFailedTests: 1, testResults: [{ ...file, assertionResults }] };
  expect(countReport(report, 1)).toMatchObject({
    failed: 1,
    troubles: [
      '✗ libs/a.spec.ts: sums add up\n    AssertionError: 1 is not 2\n    1\n    2\n    at here',
      '! libs/a.spec.ts: late (passed when it was tried again)\n    Error: late',
    ],
  });
});

test('unittest results are read from its last lines', () => {
  const ok = '...\nRan 12 tests in 3.4s\n\nOK\n';
  expect(countUnittest(ok, 0)).toEqual({ passed: 12, failed: 0, skipped: 0, troubles: [] });
  const bad =
    'ERROR: test_b (test_a.T.test_b)\n---\nRan 12 tests in 3.4s\n\nFAILED (failures=1, errors=2, skipped=3)\n';
  expect(countUnittest(bad, 1)).toEqual({
    passed: 6,
    failed: 3,
    skipped: 3,
    troubles: ['✗ sandbox/tests: test_b (test_a.T.test_b)'],
  });
  const skipped = 'Ran 1 test in 0.1s\n\nOK (skipped=1)\n';
  expect(countUnittest(skipped, 0)).toEqual({ passed: 0, failed: 0, skipped: 1, troubles: [] });
  expect(countUnittest('ImportError: no module\n', 1)).toMatchObject({ passed: 0, failed: 1, skipped: 0 });
});
