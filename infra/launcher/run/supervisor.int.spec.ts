import { startProcess } from '@moli/processes';
import { expect, onTestFinished, test } from 'vitest';
import type { Service } from './service.ts';
import type { ServiceState } from './state.ts';
import { Supervisor } from './supervisor.ts';

/** A real process that does nothing until it is stopped, or ends at once. */
function sleeper(name: string, seconds: number, stops: string[] = []): Service {
  return {
    name,
    port: 1,
    async start() {
      const child = await startProcess({
        command: 'sleep',
        args: [String(seconds)],
        env: { PATH: process.env.PATH },
        deathSignal: 'SIGKILL',
        output: () => {},
      });
      return {
        process: child,
        stop: (graceMs) => {
          stops.push(name);
          return child.stop('SIGTERM', graceMs);
        },
      };
    },
  };
}

function watched() {
  const said: string[] = [];
  let states: ServiceState[] = [];
  const supervisor = new Supervisor({
    say: (text) => said.push(text.en),
    changed: (now) => {
      states = now;
    },
  });
  onTestFinished(() => supervisor.stop());
  return { supervisor, said, states: () => states };
}

test('a service that dies is started again, says so, and is another process', async () => {
  const { supervisor, said, states } = watched();
  await supervisor.start(sleeper('one', 1_000), 1_000);
  const first = states()[0]?.process?.pid as number;
  process.kill(first, 'SIGKILL');
  await expect.poll(() => states()[0]).toMatchObject({ state: 'ready', restarts: 1 });
  expect(states()[0]?.process?.pid).not.toBe(first);
  expect(said.join('\n')).toMatch(/one ended \(SIGKILL\); starting it again in 0\.2 s[\s\S]*one is back/);
});

test('a service that dies at once every time is tried at longer and longer pauses', async () => {
  const { supervisor, said } = watched();
  await supervisor.start(sleeper('short', 0), 1_000);
  await expect
    .poll(() => said.filter((line) => line.includes('starting it again')).length, { timeout: 10_000 })
    .toBeGreaterThanOrEqual(4);
  const pauses = said.flatMap((line) => /again in ([\d.]+) s/.exec(line)?.[1] ?? []);
  expect(pauses.slice(0, 4)).toEqual(['0.2', '0.5', '1', '2']);
});

test('everything stops in the reverse order of the start, and nothing starts after that', async () => {
  const { supervisor, states } = watched();
  const stops: string[] = [];
  for (const name of ['database', 'queue', 'gateway']) await supervisor.start(sleeper(name, 1_000, stops), 1_000);
  await supervisor.stop();
  expect(stops).toEqual(['gateway', 'queue', 'database']);
  expect(states().map((service) => service.state)).toEqual(['stopped', 'stopped', 'stopped']);
});
