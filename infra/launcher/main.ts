import { type Arguments, parseCommandLine, UsageError } from './command-line.ts';
import { Failure } from './failure.ts';
import { explain, say } from './terminal.ts';

/**
 * Entry of `./moli`. Before the packages are installed nothing but Node's own modules can be imported, so what needs them is imported
 * when its command runs.
 */
const COMMANDS: Record<string, () => Promise<{ run: (args: Arguments) => Promise<number> }>> = {
  up: () => import('./commands/up.ts'),
  down: () => import('./commands/down.ts'),
  status: () => import('./commands/status.ts'),
  logs: () => import('./commands/logs.ts'),
  doctor: () => import('./commands/doctor.ts'),
  demo: () => import('./commands/demo.ts'),
  test: () => import('./commands/test.ts'),
  'key create': () => import('./commands/admin.ts'),
  'tenant create': () => import('./commands/admin.ts'),
  'user invite': () => import('./commands/admin.ts'),
  // What `up` starts: the process that all others belong to. Not for people.
  supervise: () => import('./commands/supervise.ts'),
};

async function main(): Promise<number> {
  const args = parseCommandLine(process.argv.slice(2));
  if (args.help !== undefined) {
    process.stdout.write(`${args.help}\n`);
    return 0;
  }
  const load = COMMANDS[args.command];
  if (!load) throw new Error(`command without an implementation: ${args.command}`);
  return (await load()).run(args);
}

async function exitCode(): Promise<number> {
  try {
    return await main();
  } catch (error) {
    if (error instanceof UsageError) {
      say(error.text);
      return 2;
    }
    if (error instanceof Failure) say(error.text);
    else explain(error);
    return 1;
  }
}

// A start that was given up leaves things waiting: they end with this process.
process.exit(await exitCode());
