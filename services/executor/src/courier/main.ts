import { existsSync, readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { CLIENT_OPTIONS, CourierServiceClient, channelCredentials, type ProbeResult } from '@moli/rpc';
import { configureLog, log } from '@moli/telemetry';
import { LinkClient } from '../runner/slot/link.client.ts';
import { Attachment } from './attachment.ts';
import { openCanary } from './canary.ts';
import { type CourierConfig, readCourierConfig } from './config.ts';
import { forbiddenTargets, parseTarget, probeIsolation } from './isolation.probe.ts';
import { probeObjects } from './objects.probe.ts';
import { sandboxState } from './sandbox.state.ts';

/** Waits before the next try to attach, in milliseconds; the last one repeats. An executor that restarts is back within these. */
const BACK_OFF_MS = [200, 500, 1_000, 2_000];
/** An attachment that held this long was good: its end starts the back-off anew. */
const GOOD_MS = 10_000;

/** The courier of one sandbox Pod: offers it to an executor, carries one run, and is done. */
class Courier {
  readonly #config: CourierConfig;
  readonly #links: LinkClient;
  readonly #spentMark: string;
  readonly #stop = new AbortController();
  #attachment: Attachment | null = null;

  constructor(config: CourierConfig) {
    this.#config = config;

    this.#links = new LinkClient(config.objectsCa ? { ca: readFileSync(config.objectsCa, 'utf8') } : {});
    this.#spentMark = join(config.outboxDir, 'spent');
  }

  /** SIGTERM: a run that is on ends first; the Pod's grace period is the bound. */
  stop(): void {
    this.#stop.abort();
    if (!this.#attachment?.busy) this.#attachment?.leave();
  }

  async run(): Promise<void> {
    if (existsSync(this.#spentMark)) return this.#waitForTheEnd();
    await openCanary(this.#config.podIp, this.#config.canaryPort);
    for (let failures = 0; !this.#stop.signal.aborted; ) {
      const since = Date.now();
      try {
        if ((await this.#attach()) === 'spent') return;
        failures = 0;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        const { code, details } = error as { code?: number; details?: string };
        log.warn('not attached to an executor', details ? { status: code, details } : { error });
        if (Date.now() - since > GOOD_MS) failures = 0;
      }
      const backOff = BACK_OFF_MS[Math.min(failures++, BACK_OFF_MS.length - 1)]!;
      // Spread out: all couriers of an executor lose it at the same moment.
      await wait(backOff * (0.5 + Math.random()), undefined, { signal: this.#stop.signal }).catch(() => {});
    }
  }

  async #attach(): Promise<'again' | 'spent'> {
    const { executorAddress, executorCa, tokenFile, podName, podUid, profile, canaryPort } = this.#config;
    const [{ strength, fault }, probes] = await Promise.all([
      sandboxState(this.#config.sandboxSocket, this.#stop.signal),
      this.#probe([], []),
    ]);
    const credentials = channelCredentials({ ca: executorCa, token: tokenFile });
    const client = new CourierServiceClient(executorAddress, credentials, CLIENT_OPTIONS);
    const { sandboxSocket, outboxDir } = this.#config;
    this.#attachment = new Attachment({
      client,
      place: { socketPath: sandboxSocket, outboxDir, links: this.#links },
      probe: (neighbours, forbidden) => this.#probe(neighbours, forbidden),
      markSpent: () => writeFile(this.#spentMark, ''),
    });
    try {
      return await this.#attachment.serve({
        podName,
        podUid,
        profile,
        strength,
        sandboxFault: fault,
        probes,
        canaryPort,
      });
    } finally {
      client.close();
    }
  }

  async #probe(neighbours: readonly string[], forbidden: readonly string[]): Promise<ProbeResult[]> {
    const { nodeIp, outsideTargets: outside, forbiddenTargets: listed, objectsUrl } = this.#config;
    const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = process.env;
    const apiServer = host && port ? `${host}:${port}` : undefined;
    const targets = forbiddenTargets({ apiServer, nodeIp, outside, listed: [...listed, ...forbidden] });
    const others = neighbours.map((text) => parseTarget(text, 'neighbour'));
    const [walls, objects] = await Promise.all([
      probeIsolation([...targets, ...others]),
      objectsUrl ? probeObjects(objectsUrl, this.#links) : null,
    ]);
    return objects ? [...walls, objects] : walls;
  }

  /** Kubernetes starts a container again that has ended. A Pod that had its run never offers itself again and waits to be deleted. */
  async #waitForTheEnd(): Promise<void> {
    log.info('this Pod had its run and waits to be deleted');
    await wait(2 ** 31 - 1, undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}

async function main(): Promise<void> {
  const config = readCourierConfig(process.env);
  configureLog({ service: 'courier', level: config.logLevel });
  const courier = new Courier(config);
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => courier.stop());
  await courier.run();
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    log.error('the courier could not start', { error });
    process.exit(1);
  },
);
