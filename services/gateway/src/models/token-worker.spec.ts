import { expect, test } from 'vitest';
import { TokenWorker } from './token-worker.ts';

test('each text gets its own count, questions at once get their own answers', async () => {
  const worker = new TokenWorker();
  const answers = await Promise.all([
    worker.count(['hello world', '你好，世界', '']),
    worker.count(['<|endoftext|>', 'a']),
    worker.count([]),
  ]);
  expect(answers[0]).toEqual([2, 3, 0]);
  expect(answers[1]![0]).toBeGreaterThan(1);
  expect(answers[2]).toEqual([]);
});

test('the event loop goes on while the vocabulary is loaded', async () => {
  const worker = new TokenWorker();
  let turns = 0;
  let counted = false;
  const counting = worker.count(['x']).then(() => {
    counted = true;
  });
  while (!counted) {
    turns++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  await counting;
  expect(turns).toBeGreaterThan(10);
});
