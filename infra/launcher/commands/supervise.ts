import { type Arguments, portOption } from '../command-line.ts';
import { Failure } from '../failure.ts';
import { dataFolder } from '../paths.ts';
import type { Report } from '../run/detached.ts';
import { readSettings } from '../run/settings.ts';
import { supervise } from '../run/supervise.ts';

/** The process in the background that `up --detach` starts; everything else is its child. */
export async function run({ options }: Arguments): Promise<number> {
  const folder = dataFolder(options.data);
  const report = (message: Report) =>
    new Promise<void>((resolve) => (process.send ? process.send(message, () => resolve()) : resolve()));
  try {
    const { stack, stopped } = await supervise({
      folder,
      settings: readSettings(folder),
      host: String(options.host),
      port: portOption(options.port) ?? 8000,
      python: String(options.python),
    });
    await report({ ready: { url: stack.url, first: stack.first } });
    if (process.connected) process.disconnect();
    await stopped;
    return 0;
  } catch (error) {
    const text = error instanceof Failure ? error.text : { zh: String(error), en: String(error) };
    await report({ failed: text });
    if (process.connected) process.disconnect();
    return 1;
  }
}
