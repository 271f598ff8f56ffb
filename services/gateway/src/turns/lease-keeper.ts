import { log } from '@moli/telemetry';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { GatewayCalls } from './gateway-calls.ts';
import { Lease } from './lease.ts';
import { TurnCut } from './turn-cut.ts';
import { TurnRunner } from './turn-runner.ts';
import { TurnTakeover } from './turn-takeover.ts';

const BEAT_MILLISECONDS = 2_000;
const SWEEP_MILLISECONDS = 1_000;

/** Keeps this gateway alive in the eyes of the others, looks after those that are gone, and ends its own turns in order when it stops. */
@Injectable()
export class LeaseKeeper implements OnApplicationBootstrap, OnModuleDestroy {
  #beats: Rounds | undefined;
  #sweeps: Rounds | undefined;

  constructor(
    @Inject(Lease) private readonly lease: Lease,
    @Inject(TurnRunner) private readonly runner: TurnRunner,
    @Inject(TurnTakeover) private readonly takeover: TurnTakeover,
    @Inject(GatewayCalls) private readonly calls: GatewayCalls,
  ) {}

  async onApplicationBootstrap(): Promise<void> {
    await this.calls.listen(this.lease.gatewayId, (call) => {
      this.runner.cut(call.sessionId, new TurnCut(call.kind, call.by));
    });
    await this.lease.beat();
    this.#beats = every(BEAT_MILLISECONDS, () => this.lease.beat());
    this.#sweeps = every(SWEEP_MILLISECONDS, () => this.#sweep());
  }

  /** Readers and requests are still served while turns end. Until they have, this gateway lives: others would take its sessions away. */
  async onModuleDestroy(): Promise<void> {
    await this.#sweeps?.stop();
    await this.runner.shutdown();
    await this.#beats?.stop();
    await this.lease.resign().catch((error: unknown) => log.warn('the lease could not be given back', { error }));
    this.calls.close();
  }

  async #sweep(): Promise<void> {
    const lost = [...(await this.lease.sweep()), ...(await this.lease.sweepOrphans((id) => this.runner.has(id)))];
    for (const held of lost) this.takeover.takeOver(held);
  }
}

interface Rounds {
  /** Resolves when the round that is on is over. */
  stop(): Promise<void>;
}

/** One at a time: the next begins when the last is over and the pause has passed. */
function every(milliseconds: number, work: () => Promise<void>): Rounds {
  let running = Promise.resolve();
  let stopped = false;
  const round = async (): Promise<void> => {
    running = work().catch((error: unknown) => log.warn('the lease could not be kept, trying again', { error }));
    await running;
    if (!stopped) timer = setTimeout(round, milliseconds);
  };
  let timer = setTimeout(round, milliseconds);
  return {
    async stop() {
      stopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
