import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type Arguments, UsageError } from '../command-line.ts';
import { Failure } from '../failure.ts';
import { dataFolder } from '../paths.ts';

const SERVICES = ['launcher', 'postgres', 'redis', 'gateway', 'executor'];
const SHOWN_LINES = 100;

/** `./moli logs [service] [--follow]`: the last lines of a log, or of all of them; with `--follow` what comes after, until Ctrl+C. */
export async function run({ rest, options }: Arguments): Promise<number> {
  const folder = dataFolder(options.data);
  const [service] = rest;
  if (service !== undefined && !SERVICES.includes(service)) {
    const list = SERVICES.join(', ');
    throw new UsageError({
      zh: `没有服务「${service}」；有：${list}。`,
      en: `There is no service "${service}"; there are: ${list}.`,
    });
  }
  const names = service ? [service] : SERVICES;
  const there = names.filter((name) => existsSync(join(folder.logs, `${name}.log`)));
  if (there.length === 0) {
    const among = existsSync(folder.logs) ? readdirSync(folder.logs).join(', ') : '';
    throw new Failure({
      zh: `${folder.logs} 里还没有日志。${among}`,
      en: `There is no log in ${folder.logs} yet. ${among}`,
    });
  }
  const prefix = (name: string) => (there.length > 1 ? `${name.padEnd(9)} ` : '');
  const ends = there.map((name) => ({ name, at: showEnd(join(folder.logs, `${name}.log`), prefix(name)) }));
  if (options.follow) await follow(folder.logs, ends, prefix);
  return 0;
}

function showEnd(path: string, prefix: string): number {
  const text = readFileSync(path, 'utf8');
  const lines = text.trimEnd().split('\n').slice(-SHOWN_LINES);
  if (text !== '') process.stdout.write(lines.map((line) => `${prefix}${line}\n`).join(''));
  return statSync(path).size;
}

/** Looks for new bytes four times a second; a log that became shorter was turned over and is read from its start. */
async function follow(
  folder: string,
  logs: { name: string; at: number }[],
  prefix: (name: string) => string,
): Promise<void> {
  for (;;) {
    for (const log of logs) {
      const path = join(folder, `${log.name}.log`);
      const size = existsSync(path) ? statSync(path).size : 0;
      if (size < log.at) log.at = 0;
      if (size > log.at) log.at += await showFrom(path, log.at, size, prefix(log.name));
    }
    await delay(250);
  }
}

/** Shows whole lines only; answers how many bytes that were. */
async function showFrom(path: string, from: number, to: number, prefix: string): Promise<number> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(to - from), 0, to - from, from);
    const end = buffer.subarray(0, bytesRead).lastIndexOf(0x0a) + 1;
    const lines = buffer.subarray(0, end).toString('utf8').split('\n').slice(0, -1);
    process.stdout.write(lines.map((line) => `${prefix}${line}\n`).join(''));
    return end;
  } finally {
    await file.close();
  }
}
