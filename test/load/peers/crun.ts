import { execFile } from 'node:child_process';
import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { FONT_CACHE } from './fresh-python.ts';

const run = promisify(execFile);

const SECRETLESS_ENV = [
  'PATH=/usr/bin:/bin',
  'HOME=/box',
  'MPLBACKEND=Agg',
  'MPLCONFIGDIR=/fonts',
  'OPENBLAS_NUM_THREADS=1',
  'OMP_NUM_THREADS=1',
];

const tmpfs = (destination: string) => ({
  destination,
  type: 'tmpfs',
  source: 'tmpfs',
  options: ['nosuid', 'nodev', 'mode=1777', 'size=64m'],
});
const bind = (path: string) => ({
  destination: path,
  type: 'bind',
  source: path,
  options: ['rbind', 'ro', 'nosuid', 'nodev'],
});

/** A container of its own for each run: user, pid, mount, ipc, uts and network namespaces, no capability, by crun. */
export class CrunPeer {
  readonly #folder: string;
  readonly #hybrid: boolean;
  #count = 0;

  private constructor(folder: string, hybrid: boolean) {
    this.#folder = folder;
    this.#hybrid = hybrid;
  }

  /** Errors: crun is not installed, or this is not root. `hybrid`: leave the v2 tree of a machine that has both, which crun refuses. */
  static async start(python: string, hybrid: boolean): Promise<CrunPeer> {
    await run('crun', ['--version']);
    const folder = await mkdtemp(join(tmpdir(), 'moli-crun-'));
    // The container's root is uid 100000 outside and has to pass through.
    await chmod(folder, 0o755);
    const root = join(folder, 'rootfs');
    for (const path of ['usr', 'etc', 'proc', 'dev', 'tmp', 'box', 'fonts', dirname(dirname(python)).slice(1)])
      await mkdir(join(root, path), { recursive: true });
    for (const name of ['bin', 'lib', 'lib64', 'sbin']) await symlink(`usr/${name}`, join(root, name));
    await chmod(join(root, 'tmp'), 0o1777);
    await chmod(join(root, 'box'), 0o1777);
    await mkdir(FONT_CACHE, { recursive: true });
    await chmod(FONT_CACHE, 0o1777);
    await writeFile(join(folder, 'config.json'), JSON.stringify(config(python)));
    return new CrunPeer(folder, hybrid);
  }

  async run(code: string): Promise<void> {
    this.#count += 1;
    const id = `moli-load-${process.pid}-${this.#count}`;
    const command = this.#hybrid
      ? [
          'unshare',
          '-m',
          'sh',
          '-c',
          `umount /sys/fs/cgroup/unified; exec crun --cgroup-manager=cgroupfs run -b "$0" "$1"`,
          this.#folder,
          id,
        ]
      : ['crun', 'run', '-b', this.#folder, id];
    const child = run(command[0]!, command.slice(1));
    child.child.stdin?.end(code);
    await child;
  }

  async stop(): Promise<void> {
    await rm(this.#folder, { recursive: true, force: true });
  }
}

function config(python: string) {
  const environment = dirname(dirname(python));
  return {
    ociVersion: '1.0.2',
    process: {
      terminal: false,
      user: { uid: 1000, gid: 1000 },
      args: [python, '-'],
      env: SECRETLESS_ENV,
      cwd: '/box',
      capabilities: {},
      noNewPrivileges: true,
    },
    root: { path: 'rootfs', readonly: true },
    hostname: 'sandbox',
    mounts: [
      { destination: '/proc', type: 'proc', source: 'proc' },
      { destination: '/dev', type: 'tmpfs', source: 'tmpfs', options: ['nosuid', 'mode=755', 'size=64k'] },
      bind('/usr'),
      bind('/etc'),
      ...(environment.startsWith('/usr') ? [] : [bind(environment)]),
      tmpfs('/tmp'),
      tmpfs('/box'),
      { destination: '/fonts', type: 'bind', source: FONT_CACHE, options: ['bind', 'rw', 'nosuid', 'nodev', 'noexec'] },
    ],
    linux: {
      uidMappings: [{ containerID: 0, hostID: 100_000, size: 65_536 }],
      gidMappings: [{ containerID: 0, hostID: 100_000, size: 65_536 }],
      namespaces: ['pid', 'mount', 'ipc', 'uts', 'network', 'user'].map((type) => ({ type })),
    },
  };
}
