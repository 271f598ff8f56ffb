import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { testFolder } from '@moli/testing';
import { expect, it } from 'vitest';
import { RecordingSink, specOf } from '../runner.contract.ts';
import { encodeFrame } from './frame.ts';
import { LinkClient } from './link.client.ts';
import { runInSlot } from './slot.connection.ts';

/** A monitor that user code has taken over: it says what `attack` writes. What a real one says is in the runners' contract. */
async function against(
  attack: (socket: Socket) => void,
): Promise<{ fault: unknown; left: string[]; sink: RecordingSink }> {
  const folder = testFolder('slot');
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => {
      socket.write(encodeFrame('S', JSON.stringify({ stageMs: 1 })));
      attack(socket);
    });
  }).listen(join(folder, 'slot.sock'));
  await once(server, 'listening');
  const links = new LinkClient();
  const sink = new RecordingSink();
  const place = { socketPath: join(folder, 'slot.sock'), outboxDir: folder, links };
  const fault = await runInSlot(place, specOf('print(1)'), sink, new AbortController().signal).catch((error) => error);
  links.close();
  server.close();
  return { fault, left: readdirSync(folder).filter((name) => name !== 'slot.sock'), sink };
}

const artifact = (bytes: number, name = 'a.bin') =>
  encodeFrame('A', JSON.stringify({ name, bytes, sha256: '0'.repeat(64), mimeType: 'x/y' }));

it.each<[string, (socket: Socket) => void]>([
  ['a file that is larger than all that the run may make', (socket) => socket.write(artifact(2 ** 50))],
  [
    'more displays and files than the run may make',
    (socket) => {
      const empty = encodeFrame('P', JSON.stringify({ mimeType: 'text/plain', text: 'x' }));
      for (let i = 0; i < 1_000; i++) socket.write(empty);
    },
  ],
  ['more bytes than announced', (socket) => socket.write(Buffer.concat([artifact(1), encodeFrame('Q', 'xx')]))],
  ['other bytes than announced', (socket) => socket.write(Buffer.concat([artifact(1), encodeFrame('Q', 'x')]))],
  ['a frame of a kind that there is not', (socket) => socket.write(encodeFrame('Z'))],
  ['a frame without an end', (socket) => socket.write(Buffer.from([255, 255, 255, 255, 79]))],
  ['a result that is none', (socket) => socket.write(encodeFrame('R', '{"verdict":"fine"}'))],
  ['JSON without an end', (socket) => socket.write(encodeFrame('R', '['.repeat(100_000)))],
])('gives up on a slot that says %s', async (_, attack) => {
  const { fault, left, sink } = await against(attack);
  expect(fault).toMatchObject({ name: 'RunnerError', fault: 'sandbox_lost' });
  expect(left).toEqual([]);
  expect(sink.artifacts).toEqual([]);
});
