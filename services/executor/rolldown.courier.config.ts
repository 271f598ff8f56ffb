import { defineConfig } from 'rolldown';

/** The courier is one file without packages beside it: what can be loaded in a sandbox Pod is what was reviewed. */
export default defineConfig({
  input: { courier: 'src/courier/main.ts' },
  platform: 'node',
  external: [/^node:/],
  tsconfig: '../../tsconfig.base.json',
  output: {
    file: 'dist/courier.js',
    format: 'esm',
    codeSplitting: false,
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
  },
});
