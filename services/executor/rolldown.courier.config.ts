import { defineConfig, type Plugin } from 'rolldown';

const escaped = (letter: string): string => `\\u${letter.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** One letter beyond Latin-1 makes V8 keep the whole source in two bytes a letter. */
const asciiOnly: Plugin = {
  name: 'ascii-only',
  // After minification, which would turn the escapes into letters again.
  generateBundle: (_options, bundle) => {
    for (const chunk of Object.values(bundle)) {
      if (chunk.type === 'chunk') chunk.code = chunk.code.replaceAll(/[\u0080-\uffff]/g, escaped);
    }
  },
};

/** The courier is one file without packages beside it: what can be loaded in a sandbox Pod is what was reviewed. */
export default defineConfig({
  input: { courier: 'src/courier/main.ts' },
  platform: 'node',
  external: [/^node:/],
  plugins: [asciiOnly],
  tsconfig: '../../tsconfig.base.json',
  output: {
    file: 'dist/courier.js',
    format: 'esm',
    codeSplitting: false,
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
  },
});
