import { log } from '@moli/telemetry';
import { Inject, Injectable, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { UsersStore } from './users.store.ts';

/** Milliseconds between two sweeps. Nothing depends on them: what has expired opens nothing anyway. */
const EVERY_MS = 3_600_000;

/** Removes ended sessions and one-time tokens. Every gateway does it; deleting what is gone is success. */
@Injectable()
export class IdentitySweep implements OnApplicationBootstrap, OnModuleDestroy {
  #timer: NodeJS.Timeout | undefined;

  constructor(@Inject(UsersStore) private readonly users: UsersStore) {}

  onApplicationBootstrap(): void {
    this.#timer = setInterval(() => {
      this.users
        .deleteExpired(new Date())
        .catch((error: unknown) => log.warn('expired sessions were not removed', { error }));
    }, EVERY_MS).unref();
  }

  onModuleDestroy(): void {
    clearInterval(this.#timer);
  }
}
