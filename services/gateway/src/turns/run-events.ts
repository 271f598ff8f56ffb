import type { RunArtifact, RunDisplay, RunStreamEntry } from '@moli/queue';
import type { EventData } from '../sessions/event.schema.ts';
import type { EventIds, LogWriter } from '../sessions/log-writer.ts';

/** A display as the session log holds it: a picture or page is a reference to its artifact, never bytes. */
function displayOf(display: RunDisplay, artifact: RunArtifact | undefined): EventData<'run.display'>['display'] {
  const { mimeType, name, text, table } = display;
  return {
    mimeType,
    ...(name === undefined ? {} : { name }),
    ...(text === undefined ? {} : { text }),
    ...(table ? { table } : {}),
    ...(artifact ? { artifact } : {}),
  };
}

/** Copies what happens in a run into the log of its session, as it happens. */
export class RunEvents {
  readonly #writer: LogWriter;
  readonly #ids: EventIds;
  readonly #callId: string;
  #runId = '';
  #closed = false;

  constructor(writer: LogWriter, ids: EventIds, callId: string) {
    this.#writer = writer;
    this.#ids = ids;
    this.#callId = callId;
  }

  /** A run that reacts too late to its cancellation writes nothing into a turn that is over. */
  close(): void {
    this.#closed = true;
  }

  queued(runId: string): void {
    if (this.#closed) return;
    this.#runId = runId;
    this.#writer.append('run.queued', { callId: this.#callId, runId }, this.#ids);
  }

  entry(entry: RunStreamEntry): void {
    if (this.#closed) return;
    const place = { callId: this.#callId, runId: this.#runId };
    if (entry.type === 'stage') this.#writer.append('run.started', { ...place, stage: entry.stage }, this.#ids);
    else if (entry.type === 'output')
      this.#writer.output({ ...place, stream: entry.stream, text: entry.text }, this.#ids);
    else if (entry.type === 'display') {
      this.#writer.append('run.display', { ...place, display: displayOf(entry.display, entry.artifact) }, this.#ids);
    }
  }
}
