import type { AttachRequest } from '@moli/rpc';
import type { ArtifactHead, ContentLink, DisplayHead, RunContent, RunSink } from '../runner/runner.ts';

export type CourierMessage = NonNullable<AttachRequest['message']>;
/** Sends one message; the promise, if any, says when the stream takes more. */
export type Send = (message: CourierMessage) => Promise<void> | undefined;

/** The sink of a run whose owner is at the other end of the stream. Contents stay here until that end has them stored or drops them. */
export class RemoteSink implements RunSink {
  readonly #send: Send;
  readonly #contents = new Map<number, RunContent>();
  #lastId = 0;
  #accepted: (() => void) | null = null;

  constructor(send: Send) {
    this.#send = send;
  }

  started(stageMs: number): void {
    void this.#send({ $case: 'started', value: { stageMs } });
  }

  output(stream: 'stdout' | 'stderr', bytes: Uint8Array): Promise<void> | undefined {
    // A copy: the piece is a view of a buffer that is read into again, and gRPC may hold it back.
    return this.#send({ $case: 'output', value: { error: stream === 'stderr', data: Buffer.from(bytes) } });
  }

  async display(head: DisplayHead, content: RunContent | null): Promise<void> {
    const json = JSON.stringify(head);
    if (!content) return this.#send({ $case: 'display', value: { head: json } });
    await this.#announce({ $case: 'display', value: { head: json, content: this.#hold(content) } });
  }

  async artifact(head: ArtifactHead, content: RunContent): Promise<void> {
    await this.#announce({
      $case: 'artifact',
      value: { head: JSON.stringify(head), content: this.#hold(content) },
    });
  }

  /** The other end took note of what was announced last. */
  accepted(): void {
    this.#accepted?.();
    this.#accepted = null;
  }

  /** Stores a content; answers with an empty text, or with why it is not stored. */
  async store(id: number, link: ContentLink): Promise<string> {
    const content = this.#contents.get(id);
    if (!content) return 'there is no such content';
    try {
      await content.store(link);
      return '';
    } catch (error) {
      return error instanceof Error ? error.message : 'unknown';
    }
  }

  async drop(id: number): Promise<void> {
    const content = this.#contents.get(id);
    this.#contents.delete(id);
    await content?.drop();
  }

  /** Nothing that comes after it in the run overtakes it: whoever stores it at once is not held up by a flood of output behind it. */
  async #announce(message: CourierMessage): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#accepted = resolve;
    await this.#send(message);
    await promise;
  }

  #hold(content: RunContent): { id: number; bytes: number; sha256: string } {
    const id = ++this.#lastId;
    this.#contents.set(id, content);
    return { id, bytes: content.bytes, sha256: content.sha256 };
  }
}
