import { execFile } from 'node:child_process';
import { readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';
import { describeFile } from './index.ts';

it('describes 150 MiB within the memory of a small part of it', async () => {
  const script = fileURLToPath(new URL('./testing/describe-large.ts', import.meta.url));
  const size = 150 * 1024 * 1024;
  const { stdout } = await promisify(execFile)(process.execPath, [script, String(size)]);
  const { right, growth } = JSON.parse(stdout) as { right: boolean; growth: number };
  expect(right).toBe(true);
  expect(growth).toBeLessThan(size * 0.6);
}, 120_000);

it('leaves no file open, also when it refuses', async () => {
  const path = join(tmpdir(), `tables-${process.pid}.csv`);
  await writeFile(path, Buffer.alloc(100));
  const openFiles = async () => (await readdir('/proc/self/fd')).length;
  const before = await openFiles();
  for (let n = 0; n < 20; n += 1)
    await expect(describeFile({ path }, { name: 'x.csv' })).rejects.toMatchObject({ code: 'unsupported_type' });
  expect(await openFiles()).toBeLessThanOrEqual(before + 2);
  await rm(path);
});

it('gives only text that a database takes and a sentence holds', async () => {
  const describeText = (text: string, name: string) => describeFile({ buffer: Buffer.from(text) }, { name });
  const found = [
    await describeText('{"\\u0000a":12345678901234567890,"\\ud800":1}', 'x.json'),
    await describeText(`${'x'.repeat(199)}😀,"b\nc"\n"${'y'.repeat(99)}😀",0001\n`, 'x.csv'),
  ];
  for (const description of found) {
    JSON.parse(JSON.stringify(description), (_key, value: unknown) => {
      if (typeof value === 'string') expect([value.isWellFormed(), value.includes('\0')]).toEqual([true, false]);
      return value;
    });
    for (const note of description.notes) expect(note.zh + note.en).not.toMatch(/\p{Cc}/u);
  }
  expect(found[1]!.table!.columns[1]!.name).toBe('b\nc');
  expect(found[0]!.notes[0]!.zh).toContain('「 a」');
});
