import { Socket } from 'node:net';

/**
 * A socket whose writes of one turn of the event loop leave in one system call: statements that are sent behind each other without waiting are one packet
 * for the server. Writing to a socket is the largest single cost of a short transaction.
 */
export class GatheringSocket extends Socket {
  #gathering = false;

  override cork(): void {
    if (this.#gathering) return;
    this.#gathering = true;
    super.cork();
    // Runs when the promises that are being settled now have had their say.
    process.nextTick(() => {
      this.#gathering = false;
      super.uncork();
    });
  }

  /** Node sends what is buffered at every uncork, also at an inner one: only the one above counts. */
  override uncork(): void {
    if (!this.#gathering) super.uncork();
  }

  // biome-ignore lint/suspicious/noExplicitAny: the overloads of Writable.write, passed on as they are
  override write(...args: [any, any?, any?]): boolean {
    this.cork();
    return super.write(...args);
  }
}
