import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** Helm packs only what lies in the chart's folder. */
it.each([
  ['moli-sandbox.json', 'k8s/seccomp/moli-sandbox.json'],
  ['install-seccomp.py', 'k8s/seccomp/install-seccomp.py'],
  ['moli-rules.yaml', 'infra/prometheus/moli-rules.yaml'],
  ['moli-dashboard.json', 'infra/grafana/moli.json'],
])('the copy of %s in the chart is that of %s', (copy, source) => {
  expect(read(`charts/moli/files/${copy}`)).toBe(read(source));
});

it('the chart has the version of the product', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string };
  const chart = read('charts/moli/Chart.yaml');
  expect(/^version: (.*)$/m.exec(chart)?.[1]).toBe(version);
  expect(/^appVersion: (.*)$/m.exec(chart)?.[1]).toBe(version);
});
