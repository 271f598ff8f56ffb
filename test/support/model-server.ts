import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type ModelServer, mainScene, type Script, startModelServer } from '@moli/scripted-model';

export * from '@moli/scripted-model';

/** The recorded streams of `test/cases/streams`, as a reply. */
export function recordedStream(name: string): { sse: string } {
  return { sse: readFileSync(new URL(`../cases/streams/${name}.sse`, import.meta.url), 'utf8') };
}

/** Scripts to run by name from the command line. */
const SCRIPTS: Record<string, Script> = {
  'main-scene': mainScene,
  slow: [{ reply: { steps: [{ text: 'One word after the other. '.repeat(200), piece: 4, delayMs: 100 }] } }],
  hang: [{ reply: { steps: [{ text: 'Half a sentence and then' }, { hang: true }] } }],
  cut: [{ reply: { steps: [{ text: 'Half a sentence and then' }, { cut: true }] } }],
  busy: [
    {
      reply: {
        status: 429,
        headers: { 'retry-after': '1' },
        body: { error: { message: 'Rate limit reached.', code: 'rate_limit_exceeded' } },
      },
    },
  ],
  html: [
    { reply: { status: 200, headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>Welcome</title>' } },
  ],
  endless: [{ reply: { steps: [{ call: { name: 'run_python', arguments: { code: 'print(1)' } } }] } }],
};

/** `node test/support/model-server.ts [--port N] [--script NAME] [--key KEY]`: serves until it is stopped. */
async function main(): Promise<ModelServer> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '0' },
      script: { type: 'string', default: 'main-scene' },
      key: { type: 'string' },
    },
  });
  const script = SCRIPTS[values.script];
  if (!script) throw new Error(`no script ${values.script}; there are: ${Object.keys(SCRIPTS).join(', ')}`);
  const server = await startModelServer({
    script,
    port: Number(values.port),
    ...(values.key ? { apiKey: values.key } : {}),
  });
  process.stdout.write(`${server.url}\n`);
  return server;
}

if (import.meta.main) await main();
