import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { freePort, testFolder } from '@moli/testing';
import { ApiClient } from '../../infra/launcher/demo/client.ts';

const run = promisify(execFile);
const MOLI = fileURLToPath(new URL('../../moli', import.meta.url));

/** Where a stack is and how to get in; plain JSON, so that it goes from the global setup to the tests. */
export interface StackPlace {
  readonly url: string;
  readonly port: number;
  readonly dataDir: string;
  /** API key of the first tenant's owner. */
  readonly key: string;
  /** One-time sign-in link of the first start. */
  readonly signInLink: string;
  /** The port at which the stack looks for its model server; nothing listens there until a test starts one. */
  readonly modelPort: number;
}

export interface StackOptions {
  /** Settings of Moli beside those of the model. */
  readonly env?: Readonly<Record<string, string>>;
}

/** What `./moli status --json` answers. */
export interface StackStatus {
  readonly running: boolean;
  readonly ready: boolean;
  readonly pid: number;
  readonly memoryBytes: number;
  readonly services: readonly { name: string; state: string; pid: number | null; port: number; restarts: number }[];
}

/** A whole Moli of real processes, started by `./moli up --detach` as a person would. */
export class Stack {
  readonly place: StackPlace;
  readonly #env: Readonly<Record<string, string>>;

  private constructor(place: StackPlace, env: Readonly<Record<string, string>>) {
    this.place = place;
    this.#env = env;
  }

  static async start(options: StackOptions = {}): Promise<Stack> {
    const [port, modelPort] = [await freePort(), await freePort()];
    const dataDir = testFolder('stack');
    const env = { ...modelEnv(modelPort), ...options.env };
    const [url = '', signInLink = '', key = ''] = await moli(
      ['up', '--detach', '--yes', '--data', dataDir, '--port', String(port)],
      env,
    );
    return new Stack({ url, port, dataDir, key, signInLink, modelPort }, env);
  }

  /** The stack that the global setup of this test run started. */
  static shared(): Stack {
    const json = process.env.MOLI_TEST_STACK;
    if (!json) throw new Error('the stack of the global setup is missing');
    const place = JSON.parse(json) as StackPlace;
    return new Stack(place, modelEnv(place.modelPort));
  }

  /** The API with the owner's key, by the address that needs no name resolution. */
  api(key = this.place.key): ApiClient {
    return new ApiClient(`http://127.0.0.1:${this.place.port}`, key);
  }

  /** A new tenant with a key of its own. */
  async otherTenant(name: string): Promise<{ id: string; api: ApiClient; key: string }> {
    const [id = ''] = await this.command(['tenant', 'create', name]);
    const [key = ''] = await this.command(['key', 'create', '--tenant', id]);
    return { id, key, api: this.api(key) };
  }

  /** Runs a command of the launcher on this stack's data folder; answers the lines of its standard output. */
  command(args: readonly string[]): Promise<string[]> {
    return moli([...args, '--data', this.place.dataDir], this.#env);
  }

  async status(): Promise<StackStatus> {
    // `status` ends with 1 while something is not ready; its JSON says what.
    const { stdout } = await run(MOLI, ['status', '--json', '--data', this.place.dataDir]).catch(
      (error: { stdout: string }) => error,
    );
    return JSON.parse(stdout) as StackStatus;
  }

  /** The pid of a service now. */
  async pidOf(name: string): Promise<number> {
    const pid = (await this.status()).services.find((service) => service.name === name)?.pid;
    if (!pid) throw new Error(`${name} is not running`);
    return pid;
  }

  async stop(): Promise<void> {
    await this.command(['down']);
  }

  /** Starts a stopped or killed stack again on the same data and port. */
  async startAgain(): Promise<void> {
    await moli(['up', '--detach', '--yes', '--data', this.place.dataDir, '--port', String(this.place.port)], this.#env);
  }
}

function modelEnv(modelPort: number): Record<string, string> {
  return {
    MOLI_MODEL_BASE_URL: `http://127.0.0.1:${modelPort}/v1`,
    MOLI_MODEL_API_KEY: 'test-key',
    MOLI_MODEL_NAME: 'scripted-test',
  };
}

async function moli(args: readonly string[], env: Readonly<Record<string, string>>): Promise<string[]> {
  const companion = { MOLI_STOP_WITH_PID: process.env.MOLI_STOP_WITH_PID ?? String(process.pid) };
  const { stdout } = await run(MOLI, [...args], { env: { ...process.env, ...companion, ...env } });
  return stdout.trim().split('\n');
}
