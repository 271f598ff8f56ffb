import { AppError, problemOf } from '@moli/errors';
import { log } from '@moli/telemetry';
import { type RawData, WebSocket } from 'ws';
import type { Caller } from '../identity/caller.ts';
import { assertRole } from '../identity/roles.ts';
import type { Metrics } from '../metrics.ts';
import { requestFault } from '../problem/issues.ts';
import { translate } from '../problem/translate.ts';
import type { SessionsService } from '../sessions/sessions.service.ts';
import { eventFrame, InFrame, messageOf } from './socket-frames.ts';
import type { TurnControlService } from './turn-control.service.ts';
import type { TurnsService } from './turns.service.ts';

/** Proxies cut connections that are silent for 60 s. */
const PING_MILLISECONDS = 20_000;
/** How long a client may take to say who it is. */
const AUTH_MILLISECONDS = 5_000;
/** More is not handed to the socket: the log is the buffer of a slow client. */
const MAX_BUFFERED_BYTES = 1024 * 1024;
/** A client that takes nothing for this long is dropped; it comes back and resumes. */
const STALLED_MILLISECONDS = 30_000;
const MAX_SUBSCRIPTIONS = 200;
/** Frames that wait for those before them. */
const MAX_WAITING_FRAMES = 200;

/** Close codes: private ones start at 4000. */
const CLOSE = { unauthenticated: 4401, tooBusy: 1013, policy: 1008, restart: 1012 } as const;

interface Services {
  readonly sessions: SessionsService;
  readonly turns: TurnsService;
  readonly control: TurnControlService;
  readonly metrics: Metrics;
}

/** How a connection learns who it speaks for, and whether that still holds. */
export interface Credentials {
  byKey(key: string): Promise<Caller | null>;
  /** The person of the cookie that the connection came with. */
  byCookie(): Promise<Caller | null>;
}

/** One client on the socket. Its frames are done in order; what goes wrong with one is a frame too, and the connection goes on. */
export class SocketConnection {
  readonly #socket: WebSocket;
  readonly #services: Services;
  readonly #credentials: Credentials;
  readonly #subscriptions = new Map<string, AbortController>();
  #caller: Caller | undefined;
  /** The key of the first frame; a person has none. */
  #key: string | undefined;
  #queue: Promise<void> = Promise.resolve();
  #waiting = 0;
  #alive = true;
  #timers: NodeJS.Timeout[] = [];

  constructor(socket: WebSocket, caller: Caller | undefined, services: Services, credentials: Credentials) {
    this.#socket = socket;
    this.#caller = caller;
    this.#services = services;
    this.#credentials = credentials;
  }

  start(): void {
    const socket = this.#socket;
    socket.on('message', (data, isBinary) => this.#received(data, isBinary));
    socket.on('pong', () => {
      this.#alive = true;
    });
    socket.on('error', () => socket.terminate());
    socket.on('close', () => this.#closed());
    this.#timers.push(setInterval(() => this.#ping(), PING_MILLISECONDS));
    if (!this.#caller) {
      this.#timers.push(
        setTimeout(() => {
          if (!this.#caller) socket.close(CLOSE.unauthenticated, 'no credentials');
        }, AUTH_MILLISECONDS),
      );
    }
  }

  /** This gateway stops; the client comes back to another one and resumes. */
  sendAway(): void {
    this.#socket.close(CLOSE.restart, 'connect again');
  }

  #closed(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    for (const subscription of this.#subscriptions.values()) subscription.abort();
    this.#subscriptions.clear();
  }

  #ping(): void {
    if (!this.#alive) {
      this.#socket.terminate();
      return;
    }
    this.#alive = false;
    this.#socket.ping();
    this.#recheck().catch((error: unknown) => log.warn('a connection could not be checked again', { error }));
  }

  /** A key that was revoked, a person who signed out or left the tenant: the connection ends within one ping. */
  async #recheck(): Promise<void> {
    const { tenantId } = this.#caller ?? {};
    if (tenantId === undefined) return;
    const found =
      this.#key === undefined ? await this.#credentials.byCookie() : await this.#credentials.byKey(this.#key);
    if (found?.tenantId === tenantId) this.#caller = found;
    else this.#socket.close(CLOSE.unauthenticated, 'signed out');
  }

  #received(data: RawData, isBinary: boolean): void {
    if (this.#waiting >= MAX_WAITING_FRAMES) {
      this.#socket.close(CLOSE.policy, 'too many frames at once');
      return;
    }
    this.#waiting += 1;
    this.#queue = this.#queue
      .then(() => this.#handle(isBinary ? undefined : data.toString()))
      .finally(() => {
        this.#waiting -= 1;
      });
  }

  async #handle(text: string | undefined): Promise<void> {
    let sessionId: string | undefined;
    let clientMessageId: string | undefined;
    try {
      const raw = parse(text);
      if (typeof raw.sessionId === 'string') sessionId = raw.sessionId.slice(0, 100);
      if (typeof raw.clientMessageId === 'string') clientMessageId = raw.clientMessageId.slice(0, 128);
      const frame = InFrame.safeParse(raw);
      if (!frame.success) throw requestFault(frame.error.issues as Parameters<typeof requestFault>[0]);
      await this.#perform(frame.data);
    } catch (error) {
      this.#problem(error, { sessionId, clientMessageId });
    }
  }

  async #perform(frame: InFrame): Promise<void> {
    if (frame.type === 'ping') return this.#send({ type: 'pong' });
    if (frame.type === 'auth') return this.#authenticate(frame.key);
    const caller = this.#caller;
    if (!caller) {
      this.#socket.close(CLOSE.unauthenticated, 'no credentials');
      return;
    }
    if (frame.type === 'subscribe') return this.#subscribe(caller, frame.sessionId, frame.after);
    if (frame.type === 'unsubscribe') return this.#unsubscribe(frame.sessionId);
    assertRole(caller.role, 'member');
    if (frame.type === 'stop') {
      await this.#services.control.stop(caller, frame.sessionId);
      return;
    }
    const message = messageOf(frame);
    if (!message.success) throw requestFault(message.error.issues as Parameters<typeof requestFault>[0]);
    const accepted = await this.#services.turns.send(caller, frame.sessionId, message.data);
    const { clientMessageId } = message.data;
    this.#send({
      type: 'accepted',
      sessionId: frame.sessionId,
      ...(clientMessageId ? { clientMessageId } : {}),
      ...accepted,
    });
  }

  async #authenticate(key: string): Promise<void> {
    if (!this.#caller) {
      const caller = await this.#credentials.byKey(key);
      if (!caller) {
        this.#socket.close(CLOSE.unauthenticated, 'the key opens nothing');
        return;
      }
      this.#caller = caller;
      this.#key = key;
    }
    this.#send({ type: 'ready' });
  }

  async #subscribe(caller: Caller, sessionId: string, after: number): Promise<void> {
    await this.#services.sessions.row(caller, sessionId);
    this.#unsubscribe(sessionId);
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS) throw tooManySubscriptions();
    const end = new AbortController();
    this.#subscriptions.set(sessionId, end);
    this.#follow(caller, sessionId, after, end).catch((error: unknown) => {
      log.warn('a subscription ended early', { session: sessionId, error });
      this.#socket.close(CLOSE.tooBusy, 'subscribe again');
    });
  }

  #unsubscribe(sessionId: string): void {
    this.#subscriptions.get(sessionId)?.abort();
    this.#subscriptions.delete(sessionId);
  }

  async #follow(caller: Caller, sessionId: string, after: number, end: AbortController): Promise<void> {
    const { sessions, metrics } = this.#services;
    metrics.readers.inc({ transport: 'ws' });
    try {
      for await (const lines of sessions.follow(caller, sessionId, after, end.signal)) {
        if (end.signal.aborted) return;
        for (const line of lines) this.#socket.send(eventFrame(line));
        await this.#drained(end.signal);
      }
    } finally {
      metrics.readers.dec({ transport: 'ws' });
      if (this.#subscriptions.get(sessionId) === end) this.#subscriptions.delete(sessionId);
    }
  }

  /** Waits until the client has taken most of what was sent; one that does not is dropped. */
  async #drained(signal: AbortSignal): Promise<void> {
    const giveUp = Date.now() + STALLED_MILLISECONDS;
    while (this.#socket.bufferedAmount > MAX_BUFFERED_BYTES && !signal.aborted) {
      if (Date.now() > giveUp) {
        this.#socket.close(CLOSE.tooBusy, 'too slow');
        // The closing handshake waits behind what the client does not take.
        this.#socket.terminate();
        return;
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  #problem(thrown: unknown, context: { sessionId: string | undefined; clientMessageId: string | undefined }): void {
    const error = translate(thrown);
    this.#services.metrics.errors.inc({ code: error.code });
    if (error.status >= 500) log.error('a frame failed', { code: error.code, error: error.cause ?? error });
    const { type: problemType, ...problem } = problemOf(error, this.#caller?.locale ?? 'en');
    this.#send({ type: 'problem', problemType, ...problem, ...context });
  }

  #send(frame: object): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(frame));
  }
}

function parse(text: string | undefined): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text ?? '');
  } catch {
    value = undefined;
  }
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new AppError('bad_request', {
    zh: '每一帧都应是一个 JSON 对象。',
    en: 'Every frame must be a JSON object.',
  });
}

const tooManySubscriptions = (): AppError =>
  new AppError('bad_request', {
    zh: `一个连接最多同时关注 ${MAX_SUBSCRIPTIONS} 个会话。请先退订一些。`,
    en: `One connection follows at most ${MAX_SUBSCRIPTIONS} sessions at a time. Unsubscribe from some first.`,
  });
