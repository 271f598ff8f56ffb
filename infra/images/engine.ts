import { spawnSync } from 'node:child_process';
import { Failure } from '../launcher/failure.ts';

/** A program that builds and holds images. All of its names are those of its command line. */
export interface Engine {
  readonly name: 'docker' | 'podman' | 'buildah';
  /** The command itself, with options that have to stand first. */
  readonly command: readonly string[];
}

const KNOWN = ['docker', 'podman', 'buildah'] as const;
/** A command that only asks whether the program works; Docker's client without a server fails here. */
const PROOF = { docker: ['version', '--format', '{{.Server.Version}}'], podman: ['info'], buildah: ['info'] };

/**
 * The engine that MOLI_BUILDER names, or the first of docker, podman and buildah that works. MOLI_BUILDER may be a path with options, such as
 * `/usr/bin/podman --remote`; which of the three it is, is told by its name.
 */
export function findEngine(builder = process.env.MOLI_BUILDER): Engine {
  if (builder) {
    const command = builder.trim().split(/\s+/);
    const name = KNOWN.find((known) => command[0]?.split('/').pop()?.startsWith(known));
    if (!name) {
      throw new Failure({
        zh: `MOLI_BUILDER=${builder} 不是 docker、podman 或 buildah。`,
        en: `MOLI_BUILDER=${builder} is none of docker, podman and buildah.`,
      });
    }
    const engine = { name, command };
    const fault = faultOf(engine);
    if (fault !== undefined) {
      throw new Failure({
        zh: `${builder} 不能工作，请先让它能运行：\n    ${fault}`,
        en: `${builder} does not work; make it work first:\n    ${fault}`,
      });
    }
    return engine;
  }
  const faults: string[] = [];
  for (const name of KNOWN) {
    const engine = { name, command: [name] };
    const fault = faultOf(engine);
    if (fault === undefined) return engine;
    faults.push(`${name}: ${fault}`);
  }
  const list = faults.map((fault) => `    ${fault}`).join('\n');
  throw new Failure({
    zh: `构建镜像需要 docker、podman 或 buildah，这里都不能用。请安装其中一个，或用 MOLI_BUILDER 指定：\n${list}`,
    en: `Images need docker, podman or buildah, and none of them works here. Install one, or name it in MOLI_BUILDER:\n${list}`,
  });
}

/** Why the engine does not work, in its own words; undefined when it does. */
function faultOf(engine: Engine): string | undefined {
  const [program = '', ...first] = engine.command;
  const run = spawnSync(program, [...first, ...PROOF[engine.name]], { encoding: 'utf8' });
  if (run.error) return 'code' in run.error && run.error.code === 'ENOENT' ? 'not installed' : run.error.message;
  return run.status === 0 ? undefined : (run.stderr.trim().split('\n').pop() ?? `exit status ${run.status}`);
}

/** Runs a command of the engine to its end, its output on our standard error. Throws Failure with `what` when it fails. */
export function runEngine(engine: Engine, args: readonly string[], what: { zh: string; en: string }): void {
  const [program = '', ...first] = engine.command;
  const run = spawnSync(program, [...first, ...args], { stdio: ['ignore', 2, 2] });
  if (run.status === 0) return;
  const line = [...engine.command, ...args].join(' ');
  throw new Failure({ zh: `${what.zh}\n    ${line}`, en: `${what.en}\n    ${line}` });
}

/** Standard output of a command of the engine, or undefined when it fails. */
export function askEngine(engine: Engine, args: readonly string[]): Buffer | undefined {
  const [program = '', ...first] = engine.command;
  // dpkg's records of an image are below 1 MiB; nothing larger is asked for.
  const run = spawnSync(program, [...first, ...args], {
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 64 * 1024 ** 2,
  });
  return run.status === 0 ? run.stdout : undefined;
}

/** Whether the engine holds an image of this name. */
export function holdsImage(engine: Engine, image: string): boolean {
  const args = engine.name === 'buildah' ? ['inspect', '--type', 'image', image] : ['image', 'inspect', image];
  return askEngine(engine, args) !== undefined;
}
