import { afterAll, beforeAll, expect, test } from 'vitest';
import { registry as executorRegistry } from '../../services/executor/src/metrics.ts';
import { startTestGateway, type TestGateway } from '../../services/gateway/src/gateway.fixture.ts';
import { Metrics } from '../../services/gateway/src/metrics.ts';
import { committedDoc, table } from './generated-doc.ts';

let gateway: TestGateway;

beforeAll(async () => {
  gateway = await startTestGateway();
});
afterAll(() => gateway.close());

const HEAD = `# Metrics

Every service answers \`GET /metrics\` in the text format of Prometheus. Seconds and bytes; labels come from closed sets, never ids. The series of
Node.js itself (\`process_*\`, \`nodejs_*\`) are there too. Dashboard and alerts: \`infra/grafana\`, \`infra/prometheus\`, \`docs/runbooks.md\`.

This file is made from the code and compared with a real scrape: \`MOLI_WRITE_DOCS=1 npx vitest run test/docs\`.`;

/** What prom-client keeps of a metric beyond its public type. */
interface Described {
  readonly name: string;
  readonly help: string;
  readonly labelNames: readonly string[];
  readonly constructor: { readonly name: string };
}

const own = (metrics: readonly unknown[]): Described[] =>
  (metrics as unknown as Described[]).filter(({ name }) => name.startsWith('moli_'));

function section(title: string, metrics: readonly unknown[]): string {
  const rows = own(metrics).map((metric) => [
    `\`${metric.name}\``,
    metric.constructor.name.toLowerCase(),
    metric.labelNames.map((label) => `\`${label}\``).join(', ') || '–',
    metric.help,
  ]);
  return `## ${title}\n\n${table(
    ['series', 'type', 'labels', 'what it counts or measures'],
    rows.sort(([a = ''], [b = '']) => (a < b ? -1 : 1)),
  )}`;
}

/** Names of series families in a scrape, without Node's own. */
function scraped(text: string): string[] {
  return [...text.matchAll(/^# TYPE (moli_\w+)/gm)].map(([, name = '']) => name).sort();
}

test('docs/metrics.md names every series with its labels', () => {
  const sections = [
    section('Gateway', new Metrics().registry.getMetricsAsArray()),
    section('Executor', executorRegistry.getMetricsAsArray()),
  ];
  const text = `${[HEAD, ...sections].join('\n\n')}\n`;
  expect(committedDoc('metrics.md', text)).toBe(text);
});

test('a real scrape of the gateway has exactly these series', async () => {
  const { text } = await gateway.ask('/metrics');
  const documented = own(new Metrics().registry.getMetricsAsArray()).map(({ name }) => name);
  expect(scraped(text)).toEqual(documented.sort());
});

test('names say noun and unit: seconds, bytes, or a count that ends in _total', () => {
  for (const metric of [
    ...own(new Metrics().registry.getMetricsAsArray()),
    ...own(executorRegistry.getMetricsAsArray()),
  ]) {
    expect(metric.name).toMatch(/^moli_[a-z]+(_[a-z]+)*$/);
    if (metric.constructor.name === 'Counter') expect(metric.name).toMatch(/_total$/);
    if (metric.constructor.name === 'Histogram') expect(metric.name).toMatch(/_(seconds|bytes|tokens)$/);
    expect(metric.labelNames.filter((label) => /(^|_)(id|tenant|user|session|run)$/.test(label))).toEqual([]);
  }
});
