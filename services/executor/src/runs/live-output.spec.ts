import type { RunStreamEntry } from '@moli/queue';
import { describe, expect, it } from 'vitest';
import { LiveOutput } from './live-output.ts';

function recorder(): {
  live: LiveOutput;
  batches: RunStreamEntry[][];
  release: () => void;
  all: () => RunStreamEntry[];
} {
  const batches: RunStreamEntry[][] = [];
  const gate = Promise.withResolvers<void>();
  const live = new LiveOutput((entries) => {
    batches.push(entries);
    return gate.promise;
  });
  return { live, batches, release: gate.resolve, all: () => batches.flat() };
}

const textOf = (entries: RunStreamEntry[], stream: string): string =>
  entries.map((entry) => (entry.type === 'output' && entry.stream === stream ? entry.text : '')).join('');

describe('live output', () => {
  it('joins small writes and keeps the order of streams and other entries', async () => {
    const { live, release, all } = recorder();
    release();
    for (const letter of 'abc') live.push('stdout', Buffer.from(letter));
    live.push('stderr', Buffer.from('!'));
    live.push('stdout', Buffer.from('d'));
    live.add({ type: 'stage', stage: 'collecting' });
    live.push('stdout', Buffer.from('e'));
    await live.flush();
    expect(all()).toEqual([
      { type: 'output', stream: 'stdout', text: 'abc' },
      { type: 'output', stream: 'stderr', text: '!' },
      { type: 'output', stream: 'stdout', text: 'd' },
      { type: 'stage', stage: 'collecting' },
      { type: 'output', stream: 'stdout', text: 'e' },
    ]);
  });

  it('sends a large piece at once and makes the writer wait when nothing is confirmed', async () => {
    const { live, batches, release, all } = recorder();
    const piece = Buffer.alloc(40_000, 'x');
    let waits = 0;
    for (let i = 0; i < 10; i++) if (live.push('stdout', piece)) waits++;
    expect(batches.length).toBe(10);
    expect(waits).toBeGreaterThan(0);
    const last = live.push('stdout', piece);
    release();
    await last;
    expect(textOf(all(), 'stdout').length).toBe(440_000);
  });

  it('hands the unsent rest over with the bytes of a cut character', async () => {
    const { live, release } = recorder();
    release();
    live.push('stdout', Buffer.from([0x41, 0xe9]));
    live.push('stderr', Buffer.from('e'));
    expect(await live.rest()).toEqual([
      { type: 'output', stream: 'stdout', text: 'A' },
      { type: 'output', stream: 'stderr', text: 'e' },
      { type: 'output', stream: 'stdout', text: '\\xe9' },
    ]);
    expect(live.exact('stdout')).toBe(false);
    expect(live.exact('stderr')).toBe(true);
  });

  it('tells the writer when the stream cannot be written', async () => {
    const live = new LiveOutput(() => Promise.reject(new Error('gone')));
    live.push('stdout', Buffer.from('x'));
    await expect(live.flush()).rejects.toThrow('gone');
    await expect(live.rest()).rejects.toThrow('gone');
  });
});
