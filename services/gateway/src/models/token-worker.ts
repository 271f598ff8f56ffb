import { createRequire } from 'node:module';
import { Worker } from 'node:worker_threads';
import type { countTokens } from 'gpt-tokenizer/encoding/o200k_base';

const VOCABULARY = 'gpt-tokenizer/encoding/o200k_base';
/** Marks like <|endoftext|> in a text are text; counting would throw at them otherwise. */
const OPTIONS: Parameters<typeof countTokens>[1] = { disallowedSpecial: new Set() };

/** The vocabulary takes about 80 MB: the thread goes after so long without a question, in milliseconds. */
const IDLE_MS = 600_000;

/**
 * What the thread runs. As text, because it is the same in the source tree and in the bundle: only the address of the vocabulary differs.
 * A text that cannot be counted must not end the thread.
 */
const PROGRAM = `
const { parentPort, workerData } = require('node:worker_threads');
const { countTokens } = require(workerData.vocabulary);
parentPort.on('message', ({ id, texts }) => {
  try {
    parentPort.postMessage({ id, counts: texts.map((text) => countTokens(text, workerData.options)) });
  } catch (error) {
    parentPort.postMessage({ id, fault: String(error) });
  }
});
`;

interface Answer {
  readonly id: number;
  readonly counts?: readonly number[];
  readonly fault?: string;
}
interface Waiting {
  resolve(counts: readonly number[]): void;
  reject(fault: Error): void;
}

/**
 * Counts tokens of o200k in a thread of its own: loading the vocabulary takes 0.2 s of a quiet machine and seconds of a busy one, and the
 * event loop has streams and heartbeats to serve meanwhile. One for the whole process.
 */
export class TokenWorker {
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #lastId = 0;
  readonly #waiting = new Map<number, Waiting>();

  /** Tokens of each text. */
  count(texts: readonly string[]): Promise<readonly number[]> {
    if (texts.length === 0) return Promise.resolve([]);
    const worker = this.#running();
    const id = ++this.#lastId;
    clearTimeout(this.#idle);
    worker.ref();
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
      worker.postMessage({ id, texts });
    });
  }

  #running(): Worker {
    if (this.#worker) return this.#worker;
    const worker = new Worker(PROGRAM, {
      eval: true,
      workerData: { vocabulary: createRequire(import.meta.url).resolve(VOCABULARY), options: OPTIONS },
    });
    worker.on('message', (answer: Answer) => this.#settle(worker, answer));
    worker.on('error', (fault) => this.#lost(worker, fault as Error));
    worker.on('exit', () => this.#lost(worker, new Error('the thread that counts tokens has ended')));
    this.#worker = worker;
    return worker;
  }

  #settle(worker: Worker, { id, counts, fault }: Answer): void {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    if (counts) waiting?.resolve(counts);
    else waiting?.reject(new Error(`tokens could not be counted: ${fault}`));
    if (this.#waiting.size > 0) return;
    // An idle thread keeps no process alive.
    worker.unref();
    this.#idle = setTimeout(() => void worker.terminate(), IDLE_MS).unref();
  }

  /** Who waits is told; the next question starts a new thread. */
  #lost(worker: Worker, fault: Error): void {
    if (this.#worker !== worker) return;
    this.#worker = undefined;
    clearTimeout(this.#idle);
    for (const { reject } of this.#waiting.values()) reject(fault);
    this.#waiting.clear();
  }
}
