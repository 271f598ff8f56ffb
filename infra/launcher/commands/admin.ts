import { existsSync } from 'node:fs';
import type { Arguments } from '../command-line.ts';
import { Failure } from '../failure.ts';
import { packagesAreCurrent } from '../install/packages.ts';
import { dataFolder } from '../paths.ts';
import { print } from '../terminal.ts';

/** What each command prints of the gateway's answer, one a line. */
const PRINTED: Readonly<Record<string, readonly string[]>> = {
  'key create': ['key'],
  'tenant create': ['id'],
  'user invite': ['id', 'link'],
};

/**
 * `key create`, `tenant create`, `user invite`: commands of the gateway against the running database. Results go to standard output alone, so
 * that `key=$(./moli key create)` works.
 */
export async function run({ command, rest, options }: Arguments): Promise<number> {
  const folder = dataFolder(options.data);
  const notRunning = new Failure({
    zh: `Moli 没有在 ${folder.dir} 上运行。请先运行 ./moli up --detach。`,
    en: `Moli is not running on ${folder.dir}. Run ./moli up --detach first.`,
  });
  if (!existsSync(folder.state) || !packagesAreCurrent()) throw notRunning;
  const [{ gatewayCommand }, { holderOf, readState }, { readSettings }, { gatewayEnvOf }] = await Promise.all([
    import('../run/gateway-cli.ts'),
    import('../run/state.ts'),
    import('../run/settings.ts'),
    import('../run/stack.ts'),
  ]);
  const state = holderOf(folder) ? readState(folder) : undefined;
  if (!state) throw notRunning;
  const args = [...command.split(' '), ...rest];
  for (const name of ['tenant', 'user', 'name', 'role', 'locale']) {
    if (typeof options[name] === 'string') args.push(`--${name}`, options[name]);
  }
  const env = gatewayEnvOf(folder, readSettings(folder), state);
  const answer = await gatewayCommand<Record<string, string>>(env, args);
  for (const field of PRINTED[command] ?? []) print(String(answer[field]));
  return 0;
}
