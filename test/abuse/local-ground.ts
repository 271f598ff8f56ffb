import { randomUUID } from 'node:crypto';
import { until } from '@moli/testing';
import type { ApiClient } from '../../infra/launcher/demo/client.ts';
import { Stack } from '../support/stack.ts';
import type { Ground } from './ground.ts';
import { type Inventory, leftOver, takeInventory } from './inventory.ts';
import { Ledger } from './ledger.ts';
import { type Needle, secretsOf } from './needles.ts';

/** The stack of this test run, with the machine as its surroundings. */
export class LocalGround implements Ground {
  readonly costly = false;
  readonly api: ApiClient;
  readonly neighbour: ApiClient;
  readonly books: Ledger;
  readonly needles: readonly Needle[];
  readonly words: Readonly<Record<string, string>>;
  readonly #stack: Stack;
  #executor: number;
  #before: Inventory;

  private constructor(
    stack: Stack,
    parts: Pick<Ground, 'neighbour' | 'needles' | 'words'> & { books: Ledger },
    executor: number,
  ) {
    this.#stack = stack;
    this.api = stack.api();
    this.neighbour = parts.neighbour;
    this.books = parts.books;
    this.needles = parts.needles;
    this.words = parts.words;
    this.#executor = executor;
    this.#before = takeInventory(stack, executor);
  }

  static async open(stack = Stack.shared()): Promise<LocalGround> {
    const { key, api: neighbour } = await stack.otherTenant(`neighbour ${randomUUID()}`);
    await fullPool(stack);
    const { services, pid } = await stack.status();
    const parts = {
      neighbour,
      books: await Ledger.open(stack),
      needles: await secretsOf(stack, [stack.place.key, key]),
      words: {
        ports: JSON.stringify([stack.place.port, ...services.map(({ port }) => port)]),
        pids: JSON.stringify([pid, ...services.map((service) => service.pid)]),
        dataDir: stack.place.dataDir,
      },
    };
    return new LocalGround(stack, parts, services.find(({ name }) => name === 'executor')?.pid ?? 0);
  }

  /** Processes, namespaces, groups, mounts, files. */
  leftBehind(): string[] {
    return leftOver(this.#before, takeInventory(this.#stack, this.#executor));
  }

  /** Takes stock anew after a restart of the executor. */
  async startOver(): Promise<void> {
    await fullPool(this.#stack);
    this.#executor = await this.#stack.pidOf('executor');
    this.#before = { ...takeInventory(this.#stack, this.#executor), files: this.#before.files };
  }

  async close(): Promise<void> {
    await this.books.close();
  }
}

/** The slots of a fresh box come one after the other: stock is taken when all wait. */
async function fullPool(stack: Stack): Promise<void> {
  const port = (await stack.status()).services.find(({ name }) => name === 'executor')?.port;
  await until(
    async () => {
      const response = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined);
      const body = (await response?.json()) as { sandbox?: { slots: number; idle: number } } | undefined;
      return response?.ok && body?.sandbox?.idle === body?.sandbox?.slots;
    },
    { what: 'all slots are idle', timeoutMs: 60_000 },
  );
}
