import { describe, expect, it } from 'vitest';
import { encodeFrame, FrameDecoder, FrameError, MAX_FRAME_BYTES, pieces } from './frame.ts';

function decode(chunks: Iterable<Buffer>): { type: string; text: string }[] {
  const decoder = new FrameDecoder();
  const frames: { type: string; text: string }[] = [];
  for (const chunk of chunks) {
    for (const { type, payload } of decoder.push(chunk)) frames.push({ type, text: payload.toString('latin1') });
  }
  expect(decoder.empty).toBe(true);
  return frames;
}

describe('frames', () => {
  const stream = Buffer.concat([
    encodeFrame('J', '{"code":"打印"}'),
    encodeFrame('C'),
    encodeFrame('O', Buffer.from([0, 255, 10])),
    encodeFrame('Q', Buffer.alloc(70_000, 'x')),
  ]);
  const expected = [
    { type: 'J', text: Buffer.from('{"code":"打印"}').toString('latin1') },
    { type: 'C', text: '' },
    { type: 'O', text: '\u0000ÿ\n' },
    { type: 'Q', text: 'x'.repeat(70_000) },
  ];

  it('are a length, a type and a payload', () => {
    expect(encodeFrame('O', 'ab')).toEqual(Buffer.from([3, 0, 0, 0, 0x4f, 0x61, 0x62]));
  });

  it.each([1, 2, 3, 4, 5, 7, 1_000, 65_536, stream.length])('come out whole from chunks of %i bytes', (size) => {
    const chunks: Buffer[] = [];
    for (let at = 0; at < stream.length; at += size) chunks.push(stream.subarray(at, at + size));
    expect(decode(chunks)).toEqual(expected);
  });

  it('may have the greatest length and no greater one', () => {
    const largest = encodeFrame('Q', Buffer.alloc(MAX_FRAME_BYTES - 1));
    expect(decode([largest])[0]?.text.length).toBe(MAX_FRAME_BYTES - 1);
    expect(() => encodeFrame('Q', Buffer.alloc(MAX_FRAME_BYTES))).toThrow(FrameError);
  });

  it.each([
    ['zero', 0],
    ['one over the greatest', MAX_FRAME_BYTES + 1],
    ['the greatest number', 0xffff_ffff],
  ])('of length %s are refused at their header', (_, length) => {
    const header = Buffer.alloc(5);
    header.writeUInt32LE(length);
    expect(() => [...new FrameDecoder().push(header)]).toThrow(FrameError);
  });

  it('know when a stream is cut inside one', () => {
    const decoder = new FrameDecoder();
    expect([...decoder.push(encodeFrame('O', 'abc').subarray(0, 6))]).toEqual([]);
    expect(decoder.empty).toBe(false);
  });

  it('carry long contents in pieces', () => {
    const content = Buffer.alloc(2 * 1024 * 1024 + 5, 7);
    const cut = [...pieces(content)];
    expect(cut.map((piece) => piece.byteLength)).toEqual([1024 * 1024, 1024 * 1024, 5]);
    expect(Buffer.concat(cut).equals(content)).toBe(true);
    expect([...pieces(Buffer.alloc(0))]).toEqual([]);
  });
});
