/** Writes a table of the given size, describes it and prints what that cost: time, peak of memory, longest stop of the event loop. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { describeFile } from '../index.ts';

const size = Number(process.argv[2]);
const folder = mkdtempSync(join(tmpdir(), 'tables-'));
try {
  const path = join(folder, 'large.csv');
  const block = Array.from(
    { length: 5000 },
    (_, n) => `2026-01-0${(n % 9) + 1},"华东, ${n}",茶壶,${n},${n * 1.5}\n`,
  ).join('');
  writeFileSync(path, '日期,区域,产品,数量,金额\n');
  let rows = 0;
  for (; statSync(path).size < size; rows += 5000) writeFileSync(path, block, { flag: 'a' });
  await describeFile({ buffer: Buffer.from('日期\n2026-01-01\n') }, { name: 'warm.csv' });
  const before = process.resourceUsage().maxRSS;
  const delay = monitorEventLoopDelay({ resolution: 1 });
  delay.enable();
  const started = performance.now();
  const found = await describeFile({ path }, { name: 'large.csv' });
  const ms = performance.now() - started;
  const growth = (process.resourceUsage().maxRSS - before) * 1024;
  process.stdout.write(
    JSON.stringify({
      right: found.table?.rows === rows,
      rows,
      ms,
      growth,
      stopMs: delay.max / 1e6,
      p99StopMs: delay.percentile(99) / 1e6,
    }),
  );
} finally {
  rmSync(folder, { recursive: true });
}
