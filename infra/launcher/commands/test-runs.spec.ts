import { expect, test } from 'vitest';
import { countReport, countUnittest } from './test-runs.ts';

const clean = { numPassedTests: 3, numFailedTests: 0, numPendingTests: 1, numTodoTests: 1, testResults: [] };

test('a file that could not be loaded, a missing report and an odd exit code are failures', () => {
  expect(countReport(clean, 0)).toEqual({ passed: 3, failed: 0, skipped: 2 });
  expect(countReport(clean, 1).failed).toBe(1);
  expect(countReport(undefined, 0).failed).toBe(1);
  expect(countReport({ ...clean, testResults: [{ status: 'failed', assertionResults: [] }] }, 1).failed).toBe(1);
});

test('unittest results are read from its last lines', () => {
  expect(countUnittest('...\nRan 12 tests in 3.4s\n\nOK\n', 0)).toEqual({ passed: 12, failed: 0, skipped: 0 });
  expect(countUnittest('Ran 12 tests in 3.4s\n\nFAILED (failures=1, errors=2, skipped=3)\n', 1)).toEqual({
    passed: 6,
    failed: 3,
    skipped: 3,
  });
  expect(countUnittest('Ran 1 test in 0.1s\n\nOK (skipped=1)\n', 0)).toEqual({ passed: 0, failed: 0, skipped: 1 });
  expect(countUnittest('ImportError: no module\n', 1)).toEqual({ passed: 0, failed: 1, skipped: 0 });
});
