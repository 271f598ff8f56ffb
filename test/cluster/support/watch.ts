import { spawn } from 'node:child_process';

export interface PodWatch {
  /** Names of Pods that were deleted while it was watched. */
  readonly deleted: ReadonlySet<string>;
  stop(): Promise<void>;
}

/** Notes every Pod that goes in a namespace until it is stopped. */
export function watchPods(namespace: string): PodWatch {
  const deleted = new Set<string>();
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
    for (const line of lines) {
      const [type, name] = line.trim().split(/\s+/);
      if (type === 'DELETED' && name) deleted.add(name);
    }
  });
  return {
    deleted,
    async stop() {
      // It ends by itself when the API server does.
      if (child.kill()) await new Promise((resolve) => child.once('exit', resolve));
    },
  };
}
