import { rolldown } from 'rolldown';
import { expect, it } from 'vitest';
import courierBundle from '../../rolldown.courier.config.ts';

it('is one file that needs nothing but Node', async () => {
  const { output, ...input } = courierBundle as { output: object };
  const bundle = await rolldown({ ...input, cwd: `${import.meta.dirname}/../..`, logLevel: 'silent' });
  const { output: files } = await bundle.generate({ ...output, file: 'courier.js' });
  expect(files).toHaveLength(1);
  const [file] = files;
  expect(file.imports.filter((name) => !name.startsWith('node:'))).toEqual([]);
  expect(file.dynamicImports).toEqual([]);
  // Beyond it V8 keeps the source in two bytes a letter.
  expect(/[\u0080-\uffff]/.exec(file.code)).toBeNull();
});
