import { residentBytes } from '@moli/processes';
import type { Arguments } from '../command-line.ts';
import { dataFolder } from '../paths.ts';
import { holderOf, readState } from '../run/state.ts';
import { print, say } from '../terminal.ts';
import { inWords } from '../words.ts';

const STATES = {
  starting: { zh: '启动中', en: 'starting' },
  ready: { zh: '就绪', en: 'ready' },
  restarting: { zh: '重启中', en: 'restarting' },
  stopped: { zh: '已停止', en: 'stopped' },
};

/** `./moli status`: exit 0 when everything is ready, 1 otherwise. */
export async function run({ options }: Arguments): Promise<number> {
  const folder = dataFolder(options.data);
  const holder = holderOf(folder);
  const state = holder ? readState(folder) : undefined;
  if (!holder || !state) {
    if (options.json) print(JSON.stringify({ running: false, dataDir: folder.dir }, null, 2));
    else
      say({
        zh: `没有在运行（${folder.dir}）。启动：./moli up`,
        en: `Nothing is running on ${folder.dir}. ./moli up starts it.`,
      });
    return 1;
  }
  const memory = residentBytes(holder.pid);
  const ready = state.ready && state.services.every((service) => service.state === 'ready');
  if (options.json) {
    const services = state.services.map(({ process, ...service }) => ({ ...service, pid: process?.pid ?? null }));
    print(
      JSON.stringify(
        {
          running: true,
          ready,
          url: state.url,
          dataDir: folder.dir,
          pid: holder.pid,
          memoryBytes: memory.pssBytes,
          processes: memory.processes,
          services,
        },
        null,
        2,
      ),
    );
    return ready ? 0 : 1;
  }
  print(
    `${state.url}  (pid ${holder.pid}, ${memory.processes} ${inWords({ zh: '个进程', en: 'processes' })}, ${mebibytes(memory.pssBytes)})`,
  );
  for (const service of state.services) {
    const pid = service.process ? `pid ${service.process.pid}` : '';
    const used = service.process ? mebibytes(residentBytes(service.process.pid).pssBytes) : '';
    const restarts =
      service.restarts > 0 ? inWords({ zh: `重启过 ${service.restarts} 次`, en: `${service.restarts} restarts` }) : '';
    print(
      `  ${service.name.padEnd(9)} ${inWords(STATES[service.state]).padEnd(10)} ${pid.padEnd(11)} :${service.port}  ${used.padStart(8)}  ${restarts}`.trimEnd(),
    );
  }
  return ready ? 0 : 1;
}

function mebibytes(bytes: number): string {
  return `${Math.round(bytes / 1024 / 1024)} MiB`;
}
