import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
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

/** `name@version` of the package that a module comes from; null for what the bundler itself puts in. */
function packageOf(module: string): string | null {
  for (let folder = dirname(module); folder !== dirname(folder); folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (!existsSync(manifest)) continue;
    const { name, version } = JSON.parse(readFileSync(manifest, 'utf8')) as { name?: string; version?: string };
    // Without a name it only says what kind of modules the folder has.
    if (name && version) return `${name}@${version}`;
  }
  return null;
}

/** Says beside the bundle which packages it is made of, for the bill of materials of its image. */
const packageList: Plugin = {
  name: 'package-list',
  generateBundle(_options, bundle) {
    const modules = Object.values(bundle).flatMap((one) => (one.type === 'chunk' ? one.moduleIds : []));
    const packages = [...new Set(modules.map(packageOf))].filter((one) => one !== null).sort();
    this.emitFile({
      type: 'asset',
      fileName: 'courier.packages.json',
      source: `${JSON.stringify(packages, null, 2)}\n`,
    });
  },
};

/** The courier is one file without packages beside it: what can be loaded in a sandbox Pod is what was reviewed. */
export default defineConfig({
  input: { courier: 'src/courier/main.ts' },
  platform: 'node',
  external: [/^node:/],
  plugins: [asciiOnly, packageList],
  tsconfig: '../../tsconfig.base.json',
  output: {
    file: 'dist/courier.cjs',
    // An import of node:http as an ES module reads all that it exports, and one of these loads undici: 40 ms and 4 MB of each Pod.
    format: 'cjs',
    codeSplitting: false,
    minify: { compress: true, mangle: false, codegen: { removeWhitespace: true } },
  },
});
