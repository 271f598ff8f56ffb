import { UsageError } from '../launcher/command-line.ts';
import { Failure } from '../launcher/failure.ts';
import { explain, say } from '../launcher/terminal.ts';
import { run } from './commands.ts';

try {
  await run(process.argv.slice(2));
} catch (error) {
  if (error instanceof UsageError || error instanceof Failure) say(error.text);
  else explain(error);
  process.exitCode = error instanceof UsageError ? 2 : 1;
}
