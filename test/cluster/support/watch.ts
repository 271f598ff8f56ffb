import { spawn } from 'node:child_process';

export interface PodWatch {
  /** Names of Pods that were deleted while it was watched. */
  readonly deleted: ReadonlySet<string>;
  stop(): Promise<void>;
}

/** Notes every Pod that goes in a namespace until it is stopped. Resolves when it watches, which the first of the Pods that are there shows. */
export async function watchPods(namespace: string): Promise<PodWatch> {
  const deleted = new Set<string>();
  const watching = Promise.withResolvers<void>();
  const columns = 'custom-columns=:type,:object.metadata.name';
  const child = spawn(
    'kubectl',
    ['get', 'pods', '-n', namespace, '--watch', '--output-watch-events', '-o', columns, '--no-headers'],
    { stdio: ['ignore', 'pipe', 'ignore'] },
  );
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    const lines = (text + piece).split('\n');
    text = lines.pop() ?? '';
    if (lines.length > 0) watching.resolve();
    for (const line of lines) {
      const [type, name] = line.trim().split(/\s+/);
      if (type === 'DELETED' && name) deleted.add(name);
    }
  });
  child.once('error', watching.reject);
  child.once('exit', () => watching.reject(new Error('kubectl ended before it watched')));
  await watching.promise;
  return {
    deleted,
    async stop() {
      // It ends by itself when the API server does.
      if (child.kill()) await new Promise((resolve) => child.once('exit', resolve));
    },
  };
}
