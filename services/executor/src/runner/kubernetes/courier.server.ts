import { promisify } from 'node:util';
import { Server, type ServerCredentials, type ServerDuplexStream } from '@grpc/grpc-js';
import { type AttachRequest, type AttachResponse, CourierServiceService, type Hello, SERVER_OPTIONS } from '@moli/rpc';
import { log } from '@moli/telemetry';
import { metrics } from '../../metrics.ts';
import { ATTACH_REFUSALS, AttachRefusal, type RefusalReason } from './attach.refusal.ts';
import { HeldCourier } from './held.courier.ts';
import type { PodRef } from './pod.checks.ts';
import type { AttachAttempt } from './pod.gate.ts';

/** Whoever connects says who it is within this time. */
const HELLO_MS = 10_000;

export interface CourierServerOptions {
  readonly host: string;
  readonly port: number;
  readonly credentials: ServerCredentials;
  /** Says which Pod it is, or throws AttachRefusal. */
  admit(attempt: AttachAttempt): Promise<PodRef>;
  /** A courier was admitted; `onGone` follows. */
  onAttached(courier: HeldCourier): void;
  onGone(courier: HeldCourier): void;
}

/** Where couriers attach. */
export class CourierServer {
  readonly #options: CourierServerOptions;
  readonly #server = new Server(SERVER_OPTIONS);
  #draining = false;

  constructor(options: CourierServerOptions) {
    this.#options = options;
    // Each series from the start: a counter that begins at one shows no increase, and an alert would miss the first refusal.
    for (const reason of Object.keys(ATTACH_REFUSALS) as RefusalReason[]) metrics.attachRefusals.inc({ reason }, 0);
    this.#server.addService(CourierServiceService, {
      attach: (stream: ServerDuplexStream<AttachRequest, AttachResponse>) => void this.#attach(stream),
    });
  }

  /** The port that it listens on. */
  async start(): Promise<number> {
    const { host, port, credentials } = this.#options;
    return promisify(this.#server.bindAsync.bind(this.#server))(`${host}:${port}`, credentials);
  }

  /** From now on everybody is sent to another executor. */
  drain(): void {
    this.#draining = true;
  }

  close(): void {
    this.#server.forceShutdown();
  }

  async #attach(stream: ServerDuplexStream<AttachRequest, AttachResponse>): Promise<void> {
    // A stream that breaks is seen by its reader; without a listener it would end the process.
    stream.on('error', () => {});
    const messages = (stream as AsyncIterable<AttachRequest>)[Symbol.asyncIterator]();
    let attempt: AttachAttempt | null = null;
    try {
      if (this.#draining) throw new AttachRefusal('draining', 'this executor is stopping');
      attempt = { token: bearerOf(stream), address: addressOf(stream.getPeer()), hello: await firstHello(messages) };
      const pod = await this.#options.admit(attempt);
      if (this.#draining) throw new AttachRefusal('draining', 'this executor is stopping');
      await this.#serve(new HeldCourier(pod, attempt.hello.canaryPort, stream), messages);
    } catch (error) {
      this.#refuse(stream, attempt, error);
    }
  }

  async #serve(courier: HeldCourier, messages: AsyncIterator<AttachRequest>): Promise<void> {
    const serving = courier.serve({ [Symbol.asyncIterator]: () => messages });
    courier.welcome();
    this.#options.onAttached(courier);
    await serving;
    this.#options.onGone(courier);
  }

  #refuse(
    stream: ServerDuplexStream<AttachRequest, AttachResponse>,
    attempt: AttachAttempt | null,
    error: unknown,
  ): void {
    if (!(error instanceof AttachRefusal)) log.error('a courier could not be served', { error });
    const refusal =
      error instanceof AttachRefusal ? error : new AttachRefusal('protocol', 'it could not be served; see the log');
    metrics.attachRefusals.inc({ reason: refusal.reason });
    if (refusal.reason !== 'draining') {
      const pod = attempt?.hello.podName.slice(0, 253);
      log.warn('a courier was refused', { reason: refusal.reason, why: refusal.message, pod, from: attempt?.address });
    }
    const details = `${refusal.reason}: ${refusal.message}`;
    stream.emit('error', Object.assign(new Error(details), { code: refusal.code, details }));
  }
}

async function firstHello(messages: AsyncIterator<AttachRequest>): Promise<Hello> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new AttachRefusal('protocol', 'it said nothing')), HELLO_MS);
  try {
    const first = await Promise.race([messages.next(), late.promise]).catch((error: unknown) => {
      if (error instanceof AttachRefusal) throw error;
      throw new AttachRefusal('protocol', 'its stream broke before it said who it is');
    });
    const message = first.done ? undefined : first.value.message;
    if (message?.$case !== 'hello') throw new AttachRefusal('protocol', 'it did not say who it is first');
    return message.value;
  } finally {
    clearTimeout(timer);
  }
}

function bearerOf(stream: ServerDuplexStream<AttachRequest, AttachResponse>): string {
  const [value] = stream.metadata.get('authorization');
  return typeof value === 'string' && value.startsWith('Bearer ') ? value.slice('Bearer '.length) : '';
}

/** `10.0.0.1:40000`, `[::1]:40000` and `::ffff:10.0.0.1:40000` without the port. */
export function addressOf(peer: string): string {
  const host = peer.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  return host.replace(/^::ffff:(?=\d+\.\d+\.\d+\.\d+$)/i, '');
}
