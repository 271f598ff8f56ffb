import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { UsageError } from '../command-line.ts';
import { Failure } from '../failure.ts';
import { ROOT } from '../paths.ts';

type Env = Readonly<Record<string, string>>;

/** The built gateway. */
export const GATEWAY = join(ROOT, 'services/gateway/dist/main.js');

/** Runs a command of the gateway to its end; answers the JSON that it printed. Its own words come out with a failure. */
export function gatewayCommand<T>(env: Env, args: readonly string[]): Promise<T> {
  return new Promise((resolve, reject) => {
    execFile(process.execPath, [GATEWAY, ...args], { env }, (error, stdout, stderr) => {
      if (!error) return resolve(JSON.parse(stdout) as T);
      const said = stderr.trim() || error.message;
      // The gateway's exit code 2: wrong usage, explained in the language of the terminal.
      if (error.code === 2) return reject(new UsageError({ zh: said, en: said }));
      const what = args.slice(0, 2).join(' ');
      reject(new Failure({ zh: `「${what}」没有成功：${said}`, en: `"${what}" did not work: ${said}` }));
    });
  });
}

/** Answer of the first start: tenant, administrator, key; later starts only get a new link. */
export interface FirstStart {
  readonly created: boolean;
  readonly tenant: { readonly name: string };
  readonly user: { readonly email: string };
  readonly key: string | null;
  readonly signInLink: string;
  readonly hasModel: boolean;
}
