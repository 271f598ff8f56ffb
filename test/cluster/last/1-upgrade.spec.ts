import { type ModelServer, startModelServer } from '@moli/scripted-model';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { execute } from '../../abuse/oracle.ts';
import { collect, longAnswer, newSession, send, wordsOf } from '../../support/scene.ts';
import { Installation } from '../support/installation.ts';

/** What goes on all the time while the release is upgraded. */
const REQUESTS_A_SECOND = 50;
const WORDS = 300;

const installation = Installation.shared();
const { place } = installation;
const api = installation.api();
let model: ModelServer;
beforeAll(async () => {
  model = await startModelServer({
    script: longAnswer(WORDS, 100),
    host: place.host,
    port: place.modelPort,
    apiKey: 'test-key',
    models: ['scripted-test'],
  });
});
afterAll(() => model?.stop());

/** Asks for something cheap at a steady rate; answers what failed. */
function steadyLoad(): { stop(): Promise<{ sent: number; failed: string[] }> } {
  const failed: string[] = [];
  const open = new Set<Promise<void>>();
  let sent = 0;
  const ask = async (): Promise<void> => {
    const at = performance.now();
    sent += 1;
    try {
      const response = await api.request('/v1/agents', { signal: AbortSignal.timeout(30_000) });
      await response.arrayBuffer();
      if (!response.ok) failed.push(`status ${response.status}`);
    } catch (error) {
      const { message, cause } = error as Error;
      const after = `after ${Math.round(performance.now() - at)} ms`;
      failed.push(`${message} ${cause instanceof Error ? `(${cause.name}: ${cause.message}) ` : ''}${after}`);
    }
  };
  const timer = setInterval(() => {
    const one = ask().finally(() => open.delete(one));
    open.add(one);
  }, 1_000 / REQUESTS_A_SECOND);
  return {
    async stop() {
      clearInterval(timer);
      await Promise.all(open);
      return { sent, failed };
    },
  };
}

/** Runs one after the other until told to stop. */
function steadyRuns(): { stop(): Promise<number> } {
  let going = true;
  let done = 0;
  const loop = (async () => {
    while (going) {
      const code = `import time\ntime.sleep(2)\nprint(${done})`;
      expect(await execute(api, { code })).toMatchObject({ verdict: 'ok', stdout: `${done}\n` });
      done += 1;
    }
  })();
  return {
    async stop() {
      going = false;
      await loop;
      return done;
    },
  };
}

test('an upgrade of every service under load loses no request, no turn and no run', {
  timeout: 12 * 60_000,
  // What is lost once is lost.
  retry: 0,
}, async () => {
  await installation.upgrade({ gateway: { replicas: 2 }, executor: { replicas: 2 } });
  const sessions = await Promise.all([1, 2, 3].map(() => newSession(api)));
  await Promise.all(sessions.map((sessionId) => send(api, sessionId, 'a long answer, please')));
  const load = steadyLoad();
  const runs = steadyRuns();
  // Another value for every Pod: all of them are replaced, one after the other.
  const stamp = { podAnnotations: { 'moli.test/turn': String(Date.now()) } };
  const begun = performance.now();
  await installation.upgrade({ gateway: { replicas: 2, ...stamp }, executor: { replicas: 2, ...stamp } });
  const seconds = (performance.now() - begun) / 1_000;
  const { sent, failed } = await load.stop();
  const ran = await runs.stop();
  for (const sessionId of sessions) {
    const events = await collect(api, sessionId, { timeoutMs: 120_000 });
    expect(events.at(-1), 'the end of a turn').toMatchObject({ type: 'turn.completed' });
    expect(wordsOf(events).trim().split(' ')).toEqual(Array.from({ length: WORDS }, (_, n) => `word${n}`));
  }
  console.info(
    `upgrade in ${seconds.toFixed(0)} s: ${sent} requests, ${failed.length} failed; ${ran} runs; 3 turns`,
    ...failed,
  );
  expect(failed).toEqual([]);
  expect(ran).toBeGreaterThan(0);
});
