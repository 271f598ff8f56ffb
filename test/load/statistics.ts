/** Figures of one series of measurements, in the unit it was measured in. */
export interface Figures {
  readonly count: number;
  readonly min: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

/** Nearest-rank quantiles: every figure is a value that was measured. */
export function figuresOf(values: readonly number[]): Figures {
  if (values.length === 0) throw new Error('no measurements');
  const sorted = values.toSorted((a, b) => a - b);
  const at = (share: number): number => sorted[Math.max(0, Math.ceil(share * sorted.length) - 1)]!;
  return { count: sorted.length, min: at(0), p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
}

/** Runs the contestants in turn, round by round, so that drift of the machine meets all of them alike. */
export async function interleaved(
  rounds: number,
  contestants: Readonly<Record<string, () => Promise<number>>>,
  perRound: Readonly<Record<string, number>> = {},
): Promise<Map<string, number[]>> {
  const series = new Map(Object.keys(contestants).map((name) => [name, [] as number[]]));
  for (let round = 0; round < rounds; round += 1)
    for (const [name, measure] of Object.entries(contestants))
      for (let time = 0; time < (perRound[name] ?? 1); time += 1) series.get(name)!.push(await measure());
  return series;
}

/** Milliseconds that `work` took. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export const digits = (value: number): string =>
  value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2);

/** A Markdown table on standard output; the same text goes into docs/performance.md. */
export function printTable(title: string, head: readonly string[], rows: readonly (readonly string[])[]): void {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  console.log(`\n### ${title}\n\n${line(head)}\n${line(head.map(() => '---'))}\n${rows.map(line).join('\n')}`);
}

/** One row for each series; the ratio says how many times longer than the first one its median is. */
export function printSeries(title: string, unit: string, series: ReadonlyMap<string, readonly number[]>): void {
  const all = [...series].map(([name, values]) => ({ name, figures: figuresOf(values) }));
  const base = all[0]?.figures.p50 ?? 1;
  printTable(
    title,
    ['', 'n', `p50 ${unit}`, 'p95', 'p99', 'min', 'max', 'ratio of p50'],
    all.map(({ name, figures }) => [
      name,
      String(figures.count),
      ...[figures.p50, figures.p95, figures.p99, figures.min, figures.max].map(digits),
      `${digits(figures.p50 / base)}×`,
    ]),
  );
}
