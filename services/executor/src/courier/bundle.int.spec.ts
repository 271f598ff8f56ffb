import { rolldown } from 'rolldown';
import { expect, it } from 'vitest';
import courierBundle from '../../rolldown.courier.config.ts';

it('is one file that needs nothing but Node', async () => {
  const { output, ...input } = courierBundle as { output: object };
  const bundle = await rolldown({ ...input, cwd: `${import.meta.dirname}/../..`, logLevel: 'silent' });
  const { output: files } = await bundle.generate({ ...output, file: 'courier.cjs' });
  const [file, list, ...more] = files;
  expect(more).toEqual([]);
  expect(file.imports.filter((name) => !name.startsWith('node:'))).toEqual([]);
  expect(file.dynamicImports).toEqual([]);
  // Beyond it V8 keeps the source in two bytes a letter.
  expect(/[\u0080-\uffff]/.exec(file.code)).toBeNull();
  // What its image is listed to contain: what is in the file, and nothing of the executor's beside it.
  const packages = JSON.parse(String(list?.type === 'asset' && list.source)) as string[];
  const names = packages.map((one) => one.slice(0, one.lastIndexOf('@')));
  expect(names).toEqual(expect.arrayContaining(['@grpc/grpc-js', '@moli/executor', '@moli/rpc', 'zod']));
  expect(names.filter((name) => /nest|bullmq|redis|kubernetes|fastify/.test(name))).toEqual([]);
});
