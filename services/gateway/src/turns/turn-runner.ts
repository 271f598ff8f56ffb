import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '@moli/errors';
import { log } from '@moli/telemetry';
import { Inject, Injectable } from '@nestjs/common';
import type { GatewayConfig } from '../config.ts';
import { TenantDb } from '../database/tenant-db.ts';
import type { HeldSession, LogWriter } from '../sessions/log-writer.ts';
import { SessionLog } from '../sessions/session-log.ts';
import { SessionsStore } from '../sessions/sessions.store.ts';
import { stopTimes } from '../stop-times.ts';
import { CONFIG } from '../tokens.ts';
import { InputsStore } from './inputs.store.ts';
import { TurnCut } from './turn-cut.ts';
import type { TurnInput } from './turn-input.ts';
import { TurnLoop } from './turn-loop.ts';

/** How long a held session waits for a database that does not answer; after that the sweep takes it. */
const GIVE_UP_MILLISECONDS = 60_000;
const RETRY_MILLISECONDS = 500;

/** A session that this process holds, and the turn that runs in it. */
interface Work {
  readonly writer: LogWriter;
  cut: AbortController | undefined;
  /** Asked for before the turn began. */
  early: TurnCut | undefined;
  done: Promise<void>;
}

/** What comes before the inputs that wait: an input that the session was taken with, or something to put in order. */
interface FirstWork {
  readonly input?: TurnInput;
  readonly prepare?: (writer: LogWriter) => Promise<void>;
}

/** Works off the accepted inputs of the sessions that this process holds: in each session one turn after another, in the order of acceptance. */
@Injectable()
export class TurnRunner {
  readonly #work = new Map<string, Work>();
  /** Sessions that are being deleted here. */
  readonly #aside = new Set<string>();
  #stopping = false;

  constructor(
    @Inject(TenantDb) private readonly db: TenantDb,
    @Inject(SessionsStore) private readonly sessions: SessionsStore,
    @Inject(InputsStore) private readonly inputs: InputsStore,
    @Inject(SessionLog) private readonly log: SessionLog,
    @Inject(TurnLoop) private readonly loop: TurnLoop,
    @Inject(CONFIG) private readonly config: Pick<GatewayConfig, 'shutdownSeconds'>,
  ) {}

  /** Whether this process works on the session or has set it aside. */
  has(sessionId: string): boolean {
    return this.#work.has(sessionId) || this.#aside.has(sessionId);
  }

  /** Keeps the sweep away from a session that this process holds without working on it, until the answer is called. */
  setAside(sessionId: string): () => void {
    this.#aside.add(sessionId);
    return () => this.#aside.delete(sessionId);
  }

  /** Refuses new work while the gateway stops. Errors: `unavailable`. */
  assertOpen(): void {
    if (this.#stopping) throw stopping();
  }

  /** Starts to work on a session that this process has just taken. */
  start(held: HeldSession, first: FirstWork): void {
    const writer = this.log.open(held);
    const work: Work = { writer, cut: undefined, early: undefined, done: Promise.resolve() };
    this.#work.set(held.sessionId, work);
    work.done = this.#workOff(held, work, first)
      .catch((error: unknown) => log.error('a session could not be worked on', { session: held.sessionId, error }))
      .finally(() => {
        // After the release another start may already have taken its place.
        if (this.#work.get(held.sessionId) === work) this.#work.delete(held.sessionId);
      });
  }

  /** Ends the running turn of a session, or the one that is about to start. False when this process does not hold the session. */
  cut(sessionId: string, cut: TurnCut): boolean {
    const work = this.#work.get(sessionId);
    if (!work) return false;
    if (work.cut) work.cut.abort(cut);
    else work.early = cut;
    return true;
  }

  /** Lets running turns end, or ends them as interrupted; inputs that wait are left to another gateway. */
  async shutdown(): Promise<void> {
    this.#stopping = true;
    const all = (): Promise<unknown> => Promise.all([...this.#work.values()].map(({ done }) => done));
    await Promise.race([all(), sleep(stopTimes(this.config).turnsMs, undefined, { ref: false })]);
    for (const sessionId of [...this.#work.keys()]) this.cut(sessionId, new TurnCut('interrupted'));
    await all();
  }

  async #workOff(held: HeldSession, work: Work, { input: first, prepare }: FirstWork): Promise<void> {
    await prepare?.(work.writer);
    for (let input = first; ; input = undefined) {
      if (work.writer.refused.aborted) return;
      // Inputs that wait are left to another gateway; one that this session was taken with has begun.
      if (this.#stopping && !input) return;
      input ??= await this.#next(held);
      if (!input) return;
      work.cut = new AbortController();
      if (work.early || this.#stopping) work.cut.abort(work.early ?? new TurnCut('interrupted'));
      work.early = undefined;
      await this.loop.run(input, work.writer, work.cut);
      work.cut = undefined;
    }
  }

  /** The next input; undefined when there is none, and the session is released, or when it is held by someone else now. */
  async #next(held: HeldSession): Promise<TurnInput | undefined> {
    const giveUp = Date.now() + GIVE_UP_MILLISECONDS;
    for (;;) {
      try {
        return await this.#takeOrRelease(held);
      } catch (error) {
        if (Date.now() > giveUp || this.#stopping) throw error;
        log.warn('the next input could not be read, trying again', { session: held.sessionId, error });
        await sleep(RETRY_MILLISECONDS);
      }
    }
  }

  async #takeOrRelease({ tenantId, sessionId, fence }: HeldSession): Promise<TurnInput | undefined> {
    return this.db.as(tenantId, async (tx) => {
      // Sent behind each other: the inputs are read when the lock is there.
      const [session, next] = await Promise.all([
        this.sessions.lock(tx, undefined, sessionId),
        this.inputs.next(tx, sessionId),
      ]);
      if (!session || session.fence !== fence) return undefined;
      await tx.finish([next ? this.inputs.start(tx, sessionId, next.id) : this.sessions.release(tx, session)]);
      return next?.input;
    });
  }
}

const stopping = (): AppError =>
  new AppError(
    'unavailable',
    {
      zh: '服务正在停止，消息没有发出。请稍后再发一次。',
      en: 'The service is stopping and the message was not taken. Send it again in a moment.',
    },
    { retryAfterSeconds: 2 },
  );
