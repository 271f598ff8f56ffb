import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { ERRORS } from './table.ts';

const doc = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8');

/** Cells of the rows that begin with a code. */
const rows = doc
  .split('\n')
  .filter((line) => line.startsWith('| `'))
  .map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );

test('docs/errors.md has one row a code, as the table has it', () => {
  const documented = Object.fromEntries(rows.map(([code = '', ...rest]) => [code.replaceAll('`', ''), rest]));
  expect(rows).toHaveLength(Object.keys(ERRORS).length);
  for (const [code, { status, retryable, title }] of Object.entries(ERRORS)) {
    expect([code, ...(documented[code] ?? []).slice(0, 3)]).toEqual([
      code,
      String(status),
      retryable ? 'yes' : 'no',
      `${title.en} / ${title.zh}`,
    ]);
  }
});

test('each row says what to do', () => {
  for (const [code, , , , meaning = ''] of rows) expect([code, meaning.length > 20]).toEqual([code, true]);
});
