import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import {
  type Exit,
  freePort,
  type RunningProcess,
  startPostgresServer,
  startProcess,
  startRedisServer,
  until,
} from '@moli/processes';
import { Failure } from '../failure.ts';
import type { LogFile } from './log-file.ts';

/** A service that is up and answers. */
export interface Running {
  readonly process: RunningProcess;
  stop(graceMs: number): Promise<Exit>;
}

export interface Service {
  readonly name: string;
  readonly port: number;
  /** Starts it and waits until it is ready. */
  start(): Promise<Running>;
}

export interface NodeServiceSpec {
  readonly name: string;
  readonly port: number;
  readonly main: string;
  readonly args?: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string;
  readonly log: LogFile;
  /** Answers 200 when the service and all it depends on are ready. */
  readonly readyUrl: string;
  readonly readyTimeoutMs: number;
}

/** One of our own services: a Node program with `/readyz`. */
export function nodeService(spec: NodeServiceSpec): Service {
  return {
    name: spec.name,
    port: spec.port,
    async start() {
      const child = await startProcess({
        command: process.execPath,
        // Source maps would cost 30 MB; bundles keep names, stacks are readable.
        args: [...tracing(spec), spec.main, ...(spec.args ?? [])],
        env: spec.env,
        cwd: spec.cwd,
        deathSignal: 'SIGTERM',
        output: spec.log.write,
      });
      await becomeReady(spec, child);
      return { process: child, stop: (graceMs) => child.stop('SIGTERM', graceMs) };
    },
  };
}

/** OpenTelemetry has to be there before the service loads what it patches; without a collector it is not loaded at all. */
function tracing({ main, env }: NodeServiceSpec): string[] {
  return env.MOLI_OTLP_ENDPOINT ? ['--import', pathToFileURL(join(dirname(main), 'otel.js')).href] : [];
}

async function becomeReady(spec: NodeServiceSpec, child: RunningProcess): Promise<void> {
  let exit: Exit | undefined;
  void child.exited.then((how) => {
    exit = how;
  });
  try {
    await until(
      async () => {
        if (exit) throw endedWhileStarting(spec, exit);
        return answersOk(spec.readyUrl);
      },
      { what: spec.name, timeoutMs: spec.readyTimeoutMs, everyMs: 25 },
    );
  } catch (error) {
    await child.stop('SIGTERM', 1_000);
    if (error instanceof Failure) throw error;
    throw notReady(spec, error);
  }
}

async function answersOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}

function endedWhileStarting(spec: NodeServiceSpec, exit: Exit): Failure {
  const how = exit.signal ?? exit.code;
  const end = spec.log.lastLines(12).join('\n');
  return new Failure({
    zh: `${spec.name} 启动时退出（${how}）。日志 ${spec.log.path} 的结尾：\n${end}`,
    en: `${spec.name} ended while starting (${how}). The end of its log ${spec.log.path}:\n${end}`,
  });
}

function notReady(spec: NodeServiceSpec, cause: unknown): Failure {
  const seconds = spec.readyTimeoutMs / 1000;
  const end = spec.log.lastLines(12).join('\n');
  return new Failure(
    {
      zh: `${spec.name} 在 ${seconds} 秒内没有就绪。日志 ${spec.log.path} 的结尾：\n${end}`,
      en: `${spec.name} was not ready within ${seconds} s. The end of its log ${spec.log.path}:\n${end}`,
    },
    { cause },
  );
}

/** PostgreSQL of a data folder. */
export function postgresService(options: { dir: string; port: number; password: string; log: LogFile }): Service {
  return {
    name: 'postgres',
    port: options.port,
    async start() {
      const server = await withLog(options.log, () => startPostgresServer({ ...options, output: options.log.write }));
      return { process: server.process, stop: (graceMs) => server.process.stop('SIGINT', graceMs) };
    },
  };
}

/** Redis of a data folder. */
export function redisService(options: { dir: string; port: number; password: string; log: LogFile }): Service {
  return {
    name: 'redis',
    port: options.port,
    async start() {
      const server = await withLog(options.log, () => startRedisServer({ ...options, output: options.log.write }));
      return { process: server.process, stop: (graceMs) => server.process.stop('SIGTERM', graceMs) };
    },
  };
}

async function withLog<T>(log: LogFile, start: () => Promise<T>): Promise<T> {
  try {
    return await start();
  } catch (error) {
    const what = error instanceof Error ? error.message : String(error);
    const end = log.lastLines(8).join('\n');
    throw new Failure(
      { zh: `${what}。日志 ${log.path} 的结尾：\n${end}`, en: `${what}. The end of its log ${log.path}:\n${end}` },
      { cause: error },
    );
  }
}

/** Ports for the services that only this machine's own processes talk to. */
export async function privatePorts<const Name extends string>(names: readonly Name[]): Promise<Record<Name, number>> {
  const ports = new Set<number>();
  while (ports.size < names.length) ports.add(await freePort());
  const list = [...ports];
  return Object.fromEntries(names.map((name, at) => [name, list[at]])) as Record<Name, number>;
}
