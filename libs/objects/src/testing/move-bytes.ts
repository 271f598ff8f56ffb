/** Puts and gets an object of the given size and prints by how much the peak memory of this process grew. */
import { Readable, Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { FolderObjectStore } from '../folder-store.ts';

const [directory, size] = [process.argv[2]!, Number(process.argv[3])];
const store = new FolderObjectStore({ directory, secret: Buffer.alloc(32), publicUrl: 'http://127.0.0.1' });
const piece = Buffer.alloc(65_536, 'moli ');
function* pieces(): Generator<Buffer> {
  for (let left = size; left > 0; left -= piece.length) yield piece.subarray(0, Math.min(piece.length, left));
}
const peak = () => process.resourceUsage().maxRSS * 1024;
await store.put('warm', piece);
const before = peak();
let started = performance.now();
await store.put('large', Readable.from(pieces(), { objectMode: false }), { bytes: size });
const putMs = performance.now() - started;
started = performance.now();
let bytes = 0;
const { stream } = await store.get('large');
await pipeline(
  stream,
  new Writable({
    write(data: Buffer, _encoding, done) {
      bytes += data.length;
      setImmediate(done);
    },
  }),
);
const getMs = performance.now() - started;
process.stdout.write(JSON.stringify({ bytes, growth: peak() - before, putMs, getMs }));
