import { statSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import * as z from 'zod';

/** Looked at this often until it is there: the file is small, in memory, and written once. */
const LOOK_MS = 50;
/**
 * A sandbox that says nothing for this long is broken. It gives itself 180 s to come up (`ready_seconds` of `pod.py`: many Pods may start on a
 * node at once), then tries its first run, and says either way how that went: a courier that lost patience before would have its Pod refused while
 * the sandbox is still on its way.
 */
export const SILENT_MS = 240_000;

/** What `box.py` writes beside its socket, in one step: ready, or why not. */
const ReadyFile = z.discriminatedUnion('ready', [
  z.object({ ready: z.literal(true), strength: z.string().min(1) }),
  z.object({ ready: z.literal(false), reason: z.string() }),
]);

export interface SandboxState {
  /** Layers that were proved; empty when there is no sandbox. */
  readonly strength: string;
  /** Why there is none; empty when there is. */
  readonly fault: string;
}

/** Waits until the sandbox has said how it is. */
export async function sandboxState(
  socket: string,
  signal: AbortSignal,
  silentMs: number = SILENT_MS,
): Promise<SandboxState> {
  const path = join(dirname(socket), 'ready.json');
  for (let waited = 0; waited < silentMs; waited += LOOK_MS) {
    // Looks without an error for each miss: these would cost the Pod more than the rest of the wait.
    if (statSync(path, { throwIfNoEntry: false })) return stateOf(await readFile(path, 'utf8'));
    await wait(LOOK_MS, undefined, { signal });
  }
  return { strength: '', fault: `the sandbox said nothing for ${silentMs / 1_000} s` };
}

function stateOf(text: string): SandboxState {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = null;
  }
  const state = ReadyFile.safeParse(value);
  if (!state.success) return { strength: '', fault: 'the sandbox wrote a ready.json that cannot be read' };
  return state.data.ready
    ? { strength: state.data.strength, fault: '' }
    : { strength: '', fault: state.data.reason.slice(0, 500) };
}
