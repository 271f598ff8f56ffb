import type { Text } from '../words.ts';
import type { Running, Service } from './service.ts';
import type { ServiceState } from './state.ts';

// A service that dies at once every time must not take the whole machine; one that died once should be back before anyone notices.
const BACK_OFF_MS = [200, 500, 1_000, 2_000, 5_000, 10_000];
// A service that ran this long is taken for healthy: the next crash starts at the beginning of the list.
const STABLE_MS = 30_000;

interface Entry {
  readonly service: Service;
  /** Longest time for an orderly end. */
  readonly graceMs: number;
  running?: Running;
  state: ServiceState['state'];
  since: number;
  failures: number;
  restarts: number;
  retry?: NodeJS.Timeout;
}

export interface SupervisorEvents {
  /** A line for the person who watches. */
  readonly say: (text: Text) => void;
  readonly changed: (states: ServiceState[]) => void;
  /** Gives up waiting for services that are being started for the first time. */
  readonly signal?: AbortSignal;
}

/** Keeps services running: one that dies is started again after a pause, until `stop` ends all of them in the reverse order of their start. */
export class Supervisor {
  readonly #entries: Entry[] = [];
  readonly #events: SupervisorEvents;
  #stopping = false;

  constructor(events: SupervisorEvents) {
    this.#events = events;
  }

  /** Starts a service for the first time; resolves when it is ready and throws when it can't be. */
  async start(service: Service, graceMs: number): Promise<void> {
    const entry: Entry = { service, graceMs, state: 'starting', since: Date.now(), failures: 0, restarts: 0 };
    this.#entries.push(entry);
    this.#changed();
    await orAborted(this.#run(entry), this.#events.signal);
  }

  /** Ends everything, last started first. */
  async stop(): Promise<void> {
    this.#stopping = true;
    for (const entry of this.#entries.toReversed()) {
      clearTimeout(entry.retry);
      await entry.running?.stop(entry.graceMs);
      this.#set(entry, 'stopped');
    }
  }

  async #run(entry: Entry): Promise<void> {
    const running = await entry.service.start();
    if (this.#stopping) {
      await running.stop(entry.graceMs);
      return;
    }
    entry.running = running;
    this.#set(entry, 'ready');
    void running.process.exited.then((exit) => {
      if (this.#stopping) return;
      delete entry.running;
      if (Date.now() - entry.since > STABLE_MS) entry.failures = 0;
      this.#again(entry, String(exit.signal ?? exit.code));
    });
  }

  #again(entry: Entry, how: string): void {
    const pause = BACK_OFF_MS[Math.min(entry.failures, BACK_OFF_MS.length - 1)] as number;
    entry.failures += 1;
    entry.restarts += 1;
    this.#set(entry, 'restarting');
    const { name } = entry.service;
    this.#events.say({
      zh: `${name} 退出了（${how}），${pause / 1000} 秒后重启。原因见 ./moli logs ${name}。`,
      en: `${name} ended (${how}); starting it again in ${pause / 1000} s. ./moli logs ${name} shows why.`,
    });
    entry.retry = setTimeout(() => {
      this.#run(entry).then(
        () => this.#stopping || this.#events.say({ zh: `${name} 已恢复。`, en: `${name} is back.` }),
        (error: Error) => this.#stopping || this.#again(entry, error.message.split('\n')[0] as string),
      );
    }, pause);
  }

  #set(entry: Entry, state: ServiceState['state']): void {
    entry.state = state;
    entry.since = Date.now();
    this.#changed();
  }

  #changed(): void {
    this.#events.changed(
      this.#entries.map(({ service, running, state, restarts, since }) => ({
        name: service.name,
        state,
        port: service.port,
        restarts,
        since: new Date(since).toISOString(),
        ...(running ? { process: running.process.id } : {}),
      })),
    );
  }
}

/** A process that is left waiting ends with ours. */
function orAborted<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return work;
  const aborted = new Promise<never>((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
  return Promise.race([work, aborted]);
}
