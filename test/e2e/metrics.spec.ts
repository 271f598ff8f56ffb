import { readFileSync } from 'node:fs';
import type { ModelServer } from '@moli/scripted-model';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { collect, mainScene, newSession, playModel, salesCsv, send } from '../support/scene.ts';
import { Stack } from '../support/stack.ts';

const stack = Stack.shared();
const api = stack.api();
let model: ModelServer;
let gateway: string;
let executor: string;

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
const RULES = read('infra/prometheus/moli-rules.yaml');
const DASHBOARD = read('infra/grafana/moli.json');
const RUNBOOKS = read('docs/runbooks.md');
const METRICS = read('docs/metrics.md');

/** Family of a series: a histogram has three series of its own. */
const familyOf = (series: string): string => series.replace(/_(bucket|sum|count)$/, '');

/** Families that a text names; `moli_…` also stands in names of files, which have no such prefix. */
function named(text: string): string[] {
  return [...new Set([...text.matchAll(/\bmoli_[a-z_]+\b/g)].map(([name]) => familyOf(name)))].sort();
}

/** Expressions of all panels and rules. */
function expressions(): string[] {
  const ofPanels = [...DASHBOARD.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(([, text]) =>
    JSON.parse(text as string),
  );
  const ofRules = [...RULES.matchAll(/^\s+expr: (.+)$/gm)].map(([, text]) => text as string);
  return [...ofPanels, ...ofRules];
}

const alerts = [...RULES.matchAll(/^\s+- alert: (\w+)$/gm)].map(([, name]) => name as string);

/** Families with their labels, as the generated document lists them. */
function documented(): Map<string, Set<string>> {
  const rows = [...METRICS.matchAll(/^\| `(moli_\w+)` \| (\w+) \| (.+?) \|/gm)];
  return new Map(
    rows.map(([, name = '', kind, labels = '']) => {
      const own = [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label as string);
      return [name, new Set(kind === 'histogram' ? [...own, 'le'] : own)];
    }),
  );
}

/** Sum of the samples of a series in both scrapes, with the labels given. */
function sampled(series: string, labels: Readonly<Record<string, string>> = {}): number {
  return [...`${gateway}\n${executor}`.matchAll(/^(\w+)(?:\{(.*)\})? (\S+)$/gm)]
    .filter(([, name]) => name === series)
    .filter(([, , text = '']) => Object.entries(labels).every(([label, value]) => text.includes(`${label}="${value}"`)))
    .reduce((sum, [, , , value]) => sum + Number(value), 0);
}

beforeAll(async () => {
  model = await playModel(mainScene);
  const sessionId = await newSession(api);
  const fileId = await api.upload(Buffer.from(salesCsv()), 'sales_data.csv', sessionId);
  await send(api, sessionId, '分析最近三个月的销售趋势，画一张折线图', { fileIds: [fileId], locale: 'zh' });
  expect((await collect(api, sessionId)).at(-1)?.type).toBe('turn.completed');
  const port = (await stack.status()).services.find(({ name }) => name === 'executor')?.port;
  gateway = await (await fetch(`${api.origin}/metrics`)).text();
  executor = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
});
afterAll(() => model?.stop());

describe('what the dashboard and the alerts name', () => {
  test.each([
    ['the dashboard', DASHBOARD],
    ['the alert rules', RULES],
    ['the runbooks', RUNBOOKS],
    ['docs/metrics.md', METRICS],
  ])('%s: every series is in a real scrape', (_, text) => {
    const scraped = new Set([...`${gateway}\n${executor}`.matchAll(/^# TYPE (moli_\w+)/gm)].map(([, name]) => name));
    expect(named(text).length).toBeGreaterThan(0);
    expect(named(text).filter((name) => !scraped.has(name))).toEqual([]);
  });

  test('every scraped series is documented', () => {
    const scraped = [...`${gateway}\n${executor}`.matchAll(/^# TYPE (moli_\w+)/gm)].map(([, name]) => name as string);
    expect(scraped.filter((name) => !documented().has(name))).toEqual([]);
  });

  test('every label that an expression selects or groups by is one of its series', () => {
    const all = documented();
    expect(expressions().length).toBeGreaterThan(alerts.length);
    for (const expression of expressions()) {
      for (const [, series = '', selector = ''] of expression.matchAll(/\b(moli_[a-z_]+)\{([^}]*)\}/g)) {
        const used = [...selector.matchAll(/(\w+)\s*[=!]~?"/g)].map(([, label]) => label as string);
        for (const label of used)
          expect([expression, [...(all.get(familyOf(series)) ?? [])]]).toEqual([
            expression,
            expect.arrayContaining([label]),
          ]);
      }
      const possible = named(expression).flatMap((name) => [...(all.get(name) ?? [])]);
      const grouped = [...expression.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) =>
        list.split(',').map((label) => label.trim()),
      );
      expect([expression, grouped.filter((label) => !possible.includes(label))]).toEqual([expression, []]);
    }
  });
});

test.each(alerts)('the alert %s has a page that says something', (alert) => {
  const section = RUNBOOKS.split(/^## /m).find((part) => part.startsWith(`${alert}\n`));
  expect(section?.slice(alert.length).trim().length).toBeGreaterThan(60);
});

test('no page without an alert', () => {
  const pages = [...RUNBOOKS.matchAll(/^## (\w+)$/gm)].map(([, name]) => name);
  expect(pages.filter((name) => !alerts.includes(name as string))).toEqual([]);
});

test.each<[string, Record<string, string>?]>([
  ['moli_requests_total'],
  ['moli_request_duration_seconds_count'],
  ['moli_uploads_total'],
  ['moli_upload_bytes_total'],
  ['moli_turns_total', { outcome: 'completed' }],
  ['moli_turn_duration_seconds_count'],
  ['moli_turn_first_token_seconds_count'],
  ['moli_model_requests_total'],
  ['moli_model_first_token_seconds_count'],
  ['moli_model_tokens_total'],
  ['moli_tool_calls_total'],
  ['moli_events_total'],
  ['moli_event_flush_seconds_count'],
  ['moli_runs_total', { verdict: 'ok' }],
  ['moli_run_stage_seconds_count', { stage: 'run' }],
  ['moli_executor_runs_total', { verdict: 'ok' }],
  ['moli_executor_run_stage_seconds_count', { stage: 'collect' }],
  ['moli_executor_input_bytes_total'],
  ['moli_executor_artifact_bytes_total'],
  ['moli_executor_output_bytes_total', { stream: 'stdout' }],
  ['moli_executor_pool_sandboxes'],
])('the main scene is counted: %s', (series, labels) => {
  expect(sampled(series, labels)).toBeGreaterThan(0);
});
