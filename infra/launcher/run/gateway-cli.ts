import { join } from 'node:path';
import { runCommand } from '../install/command.ts';
import { ROOT } from '../paths.ts';

type Env = Readonly<Record<string, string>>;

const MAIN = join(ROOT, 'services/gateway/dist/main.js');

/** Brings the database to the schema of this version; makes the roles at the first time. */
export async function migrate(env: Env): Promise<void> {
  await runCommand(process.execPath, [MAIN, 'migrate'], {
    env,
    failure: {
      zh: '数据库没有升级成功，所以没有启动。',
      en: 'The database could not be brought to this version, so nothing was started.',
    },
  });
}

/** A one-time link for the administrator; the first call makes tenant, administrator and agent. */
export async function signInLink(env: Env): Promise<string> {
  const output = await runCommand(process.execPath, [MAIN, 'sign-in-link'], {
    env,
    failure: { zh: '没有得到登录链接。', en: 'No sign-in link could be made.' },
  });
  return output.trim().split('\n').at(-1) ?? '';
}
