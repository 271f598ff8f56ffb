import { join } from 'node:path';
import { runCommand } from '../install/command.ts';
import { ROOT } from '../paths.ts';

type Env = Readonly<Record<string, string>>;

/** Runs a command of the gateway to its end; answers what it printed. Its messages come out with a failure. */
export async function gatewayCommand(env: Env, args: readonly string[]): Promise<string> {
  const output = await runCommand(
    process.execPath,
    ['--enable-source-maps', join(ROOT, 'services/gateway/dist/main.js'), ...args],
    {
      env,
      failure: {
        zh: `「${args.slice(0, 2).join(' ')}」没有成功。`,
        en: `"${args.slice(0, 2).join(' ')}" did not work.`,
      },
    },
  );
  return output.trim();
}
