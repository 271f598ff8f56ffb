import { type ChildProcessByStdio, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** A fresh Jupyter kernel for each run, driven by jupyter_client, in an environment that has the sandbox's packages too. */
export class JupyterPeer {
  readonly #child: ChildProcessByStdio<Writable, Readable, null>;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#child = child;
    this.#reader = createInterface({ input: child.stdout });
    this.#lines = this.#reader[Symbol.asyncIterator]();
  }

  /** `python`: the sandbox's interpreter; its packages are seen through a path file. `cache`: folder for the environment, made once. */
  static async start(python: string, cache: string): Promise<JupyterPeer> {
    const home = join(cache, 'load-jupyter');
    const own = join(home, 'bin', 'python');
    if (!existsSync(own)) {
      await run('/usr/bin/python3', ['-m', 'venv', home]);
      await run(own, ['-m', 'pip', 'install', '--quiet', 'jupyter_client', 'ipykernel']);
      const { stdout } = await run(python, ['-c', 'import site; print(site.getsitepackages()[0])']);
      await run(own, [
        '-c',
        'import site, sys; open(site.getsitepackages()[0] + "/sandbox.pth", "w").write(sys.argv[1])',
        stdout.trim(),
      ]);
    }
    const script = fileURLToPath(new URL('./jupyter.py', import.meta.url));
    return new JupyterPeer(spawn(own, [script, own], { stdio: ['pipe', 'pipe', 'ignore'] }));
  }

  async run(code: string): Promise<void> {
    this.#child.stdin.write(`${JSON.stringify({ code })}\n`);
    const answer = await this.#lines.next();
    if (answer.done) throw new Error('the Jupyter driver ended');
  }

  stop(): void {
    this.#child.stdin.end();
    this.#reader.close();
  }
}
