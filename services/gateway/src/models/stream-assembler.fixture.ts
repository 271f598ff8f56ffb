import type { ModelEvent } from './provider.types.ts';
import { StreamAssembler } from './stream-assembler.ts';

const OFFERED = ['run_python', 'file_read', 'file_list'];

/** Feeds frames (objects or raw payloads), with [DONE] at the end unless it is left out. */
export function assemble(frames: readonly (object | string)[], { done = true, offered = OFFERED } = {}) {
  let made = 0;
  const assembler = new StreamAssembler({ offered, newId: () => `made_${made++}` });
  const events: ModelEvent[] = frames.flatMap((frame) =>
    assembler.push(typeof frame === 'string' ? frame : JSON.stringify(frame)),
  );
  if (done) assembler.push('[DONE]');
  const { events: last, fault } = assembler.finish();
  events.push(...last);
  const joined = (type: 'text' | 'reasoning') =>
    events.map((event) => (event.type === type ? event.text : '')).join('');
  return {
    text: joined('text'),
    reasoning: joined('reasoning'),
    calls: events.filter((event) => event.type === 'call').map(({ call }) => call),
    end: events.find((event) => event.type === 'end'),
    fault,
  };
}

/** A frame with one choice. */
export const delta = (part: object, finish: string | null = null) => ({
  choices: [{ index: 0, delta: part, finish_reason: finish }],
});
export const content = (text: unknown) => delta({ content: text });
/** A piece of a tool call. */
export const fragment = (fields: object) => delta({ tool_calls: [fields] });
export const calls = (...frames: object[]) =>
  assemble([...frames, delta({}, 'tool_calls')]).calls.map(({ name, arguments: args }) => [name, args]);
/** Arguments of `run_python`. */
export const A = '{"code":"a"}';
export const B = '{"code":"b"}';
