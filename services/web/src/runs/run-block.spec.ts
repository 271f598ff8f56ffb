// @vitest-environment happy-dom
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createApp, h, nextTick, shallowRef } from 'vue';
import { i18n, locale, t } from '../i18n/i18n.ts';
import type { ToolCall } from '../sessions/session-fold.ts';
import RunBlock from './run-block.vue';

const queued: ToolCall = {
  callId: 'call_1',
  name: 'run_python',
  arguments: { code: 'print(1)' },
  trigger: '',
  state: 'queued',
  startedAt: 0,
  stateAt: 0,
  stdout: '',
  stderr: '',
  displays: [],
  artifacts: [],
};

let end: () => void;
beforeEach(() => {
  vi.useFakeTimers({ now: 0 });
});
afterEach(() => {
  end();
  vi.useRealTimers();
});

/** A block on the page and what it emits. Time stands still but for `pass`. */
function show(props: { round?: number } = {}) {
  const call = shallowRef(queued);
  const stops: number[] = [];
  const host = document.body.appendChild(document.createElement('div'));
  const app = createApp({
    render: () => h(RunBlock, { ...props, call: call.value, onStop: () => stops.push(Date.now()) }),
  });
  app.use(i18n).mount(host);
  end = () => {
    app.unmount();
    host.remove();
  };
  return {
    stops,
    async pass(ms: number, changes: Partial<ToolCall> = {}) {
      call.value = { ...call.value, ...changes, ...(changes.state ? { stateAt: Date.now() } : {}) };
      await nextTick();
      await vi.advanceTimersByTimeAsync(ms);
      return (host.textContent ?? '').replaceAll('\u00a0', ' ');
    },
    current: () => host.querySelector('[aria-current="step"]')?.textContent,
    button: (text: string) => [...host.querySelectorAll('button')].find((button) => button.textContent === text),
    head: () => host.querySelector<HTMLButtonElement>('.run-head'),
  };
}

test.each(['zh', 'en'] as const)(
  'a wait for a sandbox is told in %s: what goes on, for how long, and how to end it',
  async (language) => {
    locale.value = language;
    const block = show();
    await block.pass(200);
    expect(block.button(t('run.stopAnswer'))).toBeUndefined();

    const soon = await block.pass(100, { state: 'preparing' });
    expect(soon).toContain(t('run.preparing.title'));
    expect(soon).not.toContain(t('run.preparing.text'));
    expect(block.current()).toBe(t('run.stage.preparing'));

    const later = await block.pass(5900);
    expect(later).toContain(t('run.preparing.text'));
    expect(later).toContain(t('duration.s', { n: '6.2' }));
    expect(await block.pass(2000)).toContain(t('duration.s', { n: '8.2' }));
    block.button(t('run.stopAnswer'))?.click();
    expect(block.stops).toEqual([8200]);

    expect(await block.pass(24_000)).toContain(t('run.preparing.long'));
    const running = await block.pass(200, { state: 'running' });
    expect(running).toContain(t('run.python.running'));
    expect(running).not.toContain(t('run.preparing.long'));
    expect(block.button(t('run.stopAnswer'))).toBeUndefined();
  },
);

test('a run beside the answer can be stopped at any time, and the focus stays in its block', async () => {
  locale.value = 'en';
  const block = show({ round: 2 });
  await block.pass(0, { state: 'running' });
  const stop = block.button(t('run.stopRun'));
  stop?.focus();
  stop?.click();
  expect(block.stops).toHaveLength(1);
  await block.pass(0, { state: 'done', ok: false, verdict: 'cancelled', durationMs: 10 });
  expect(block.button(t('run.stopRun'))).toBeUndefined();
  expect(document.activeElement).toBe(block.head());
});
