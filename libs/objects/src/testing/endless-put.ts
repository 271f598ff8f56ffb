/** Puts an object whose body never ends, and says so once bytes are on the disk. For the test that kills it. */
import { Readable } from 'node:stream';
import { FolderObjectStore } from '../folder-store.ts';

const store = new FolderObjectStore({
  directory: process.argv[2]!,
  secret: Buffer.alloc(32),
  publicUrl: 'http://127.0.0.1',
});
async function* pieces(): AsyncGenerator<Buffer> {
  for (let n = 0; n < 64; n += 1) yield Buffer.alloc(65_536, n);
  process.stdout.write('written\n');
  await new Promise((done) => setTimeout(done, 600_000));
}
await store.put('half', Readable.from(pieces(), { objectMode: false }));
