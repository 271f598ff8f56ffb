import { createHash } from 'node:crypto';
import { until } from '@moli/processes';
import { DEFAULT_LIMITS, type RunLimits } from '@moli/queue';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObjectServer } from './object-server.fixture.ts';
import type { ArtifactHead, DisplayHead, RunContent, RunInput, Runner, RunReport, RunSink, RunSpec } from './runner.ts';

/** A sink that keeps everything: contents are stored by links of `objects`, or dropped where there is none. */
export class RecordingSink implements RunSink {
  readonly #objects: ObjectServer | null;
  stdout = Buffer.alloc(0);
  stderr = Buffer.alloc(0);
  startedAt: number | null = null;
  readonly displays: { head: DisplayHead; content: Buffer | null }[] = [];
  readonly artifacts: { head: ArtifactHead; content: Buffer | null }[] = [];
  readonly order: string[] = [];
  onOutput: (text: string) => void = () => {};

  constructor(objects: ObjectServer | null = null) {
    this.#objects = objects;
  }

  started(): void {
    this.startedAt = performance.now();
    this.order.push('started');
  }

  output(stream: 'stdout' | 'stderr', bytes: Uint8Array): void {
    this[stream] = Buffer.concat([this[stream], bytes]);
    this.order.push(stream);
    this.onOutput(this.stdout.toString('utf8'));
  }

  async display(head: DisplayHead, content: RunContent | null): Promise<void> {
    this.displays.push({ head, content: content && (await this.#stored(content)) });
    this.order.push('display');
  }

  async artifact(head: ArtifactHead, content: RunContent): Promise<void> {
    this.artifacts.push({ head, content: await this.#stored(content) });
    this.order.push('artifact');
  }

  async #stored(content: RunContent): Promise<Buffer | null> {
    try {
      if (!this.#objects) return null;
      const link = this.#objects.link();
      await content.store(link);
      return this.#objects.stored(link) ?? null;
    } finally {
      await content.drop();
    }
  }
}

let count = 0;
export function specOf(code: string, more: { limits?: Partial<RunLimits>; files?: RunInput[] } = {}): RunSpec {
  return {
    runId: `run_${String(++count).padStart(32, '0')}`,
    code,
    filename: 'main.py',
    limits: { ...DEFAULT_LIMITS, ...more.limits },
    artifacts: { maxBytes: 64 * 1024 * 1024, maxCount: 50 },
    files: more.files ?? [],
    startBefore: Date.now() + 60_000,
  };
}

const sha256 = (content: Buffer): string => createHash('sha256').update(content).digest('hex');

/**
 * What every runner does with a run. `make` gives a runner that was not started. `host`: the address at which the runner's side of the
 * sandboxes reaches a server of this process.
 */
export function runnerContract(name: string, make: () => Promise<Runner>, { host }: { host?: string } = {}): void {
  describe(`runner contract: ${name}`, () => {
    let runner: Runner;
    let objects: ObjectServer;
    beforeAll(async () => {
      objects = await ObjectServer.start(host);
      runner = await make();
      await runner.start();
      await until(() => runner.status().idle > 0, { what: 'a sandbox is idle', timeoutMs: 100_000 });
    });
    afterAll(async () => {
      await runner?.close();
      await objects?.[Symbol.asyncDispose]();
    });

    const never = new AbortController().signal;
    async function run(spec: RunSpec, signal = never): Promise<{ report: RunReport; sink: RecordingSink }> {
      const sink = new RecordingSink(objects);
      return { report: await runner.run(spec, sink, signal), sink };
    }

    it('keeps standard output and error apart and says how it went', async () => {
      const { report, sink } = await run(specOf("import sys\nprint('数据 1')\nprint('oh', file=sys.stderr)"));
      expect(report).toMatchObject({ verdict: 'ok', exitCode: 0, signal: null, error: null });
      expect(sink.stdout.toString()).toBe('数据 1\n');
      expect(sink.stderr.toString()).toBe('oh\n');
      expect(sink.order[0]).toBe('started');
      expect(report.usage.wallMs).toBeGreaterThan(0);
      expect(report.sandbox).toMatch(/seccomp/);
      expect(runner.status().ready).toBe(true);
      await until(() => runner.status().idle > 0, { what: 'a sandbox is idle again', timeoutMs: 60_000 });
    });

    it('explains an error of the program in both languages, with its line', async () => {
      const { report, sink } = await run(specOf('a = {}\nprint(1)\na["销售额"]\n'));
      expect(report).toMatchObject({ verdict: 'user_error', exitCode: 1 });
      expect(report.error).toMatchObject({ name: 'KeyError', line: 3 });
      expect(report.error?.explanation.zh).toMatch(/\p{Script=Han}/u);
      expect(report.error?.explanation.en).toMatch(/[a-z]/);
      expect(sink.stdout.toString()).toBe('1\n');
    });

    it('stages files under their names and brings new ones back, byte for byte', async () => {
      const content = Buffer.from([0, 255, 10, 13, 128]);
      const big = Buffer.alloc(3_000_000, 'moli');
      const code = [
        "data = open('原始 数据.bin', 'rb').read()",
        "assert open('empty.txt').read() == ''",
        "big = open('big.bin', 'rb').read()",
        "open('复制.bin', 'wb').write(data)",
        "open('big-copy.bin', 'wb').write(big)",
        "open('nothing.txt', 'w').close()",
        'print(len(data), len(big))',
      ].join('\n');
      const files = [
        objects.input('原始 数据.bin', content),
        objects.input('empty.txt', ''),
        objects.input('big.bin', big),
      ];
      const { report, sink } = await run(specOf(code, { files }));
      expect(report.verdict).toBe('ok');
      expect(sink.stdout.toString()).toBe('5 3000000\n');
      const made = new Map(sink.artifacts.map(({ head, content: bytes }) => [head.name, { head, bytes }]));
      expect([...made.keys()].sort()).toEqual(['big-copy.bin', 'nothing.txt', '复制.bin'].sort());
      expect(made.get('复制.bin')?.bytes?.equals(content)).toBe(true);
      expect(made.get('big-copy.bin')?.bytes?.equals(big)).toBe(true);
      for (const { head, bytes } of made.values()) {
        expect(head).toMatchObject({ bytes: bytes?.byteLength, sha256: sha256(bytes ?? Buffer.alloc(0)) });
      }
    });

    it('stores what a run made after its end as well, and only what is really there', async () => {
      const kept: RunContent[] = [];
      const sink = new RecordingSink();
      sink.artifact = async (_head, content) => void kept.push(content);
      const spec = specOf("for name in 'abc': open(name + '.txt', 'w').write(name * 1_000_000)");
      const report = await runner.run(spec, sink, never);
      expect(report.verdict).toBe('ok');
      expect(kept).toHaveLength(3);
      const [whole, altered, twice] = kept as [RunContent, RunContent, RunContent];
      const link = objects.link();
      await whole.store(link);
      expect(objects.stored(link)?.byteLength).toBe(1_000_000);

      objects.alterUploads((content) => content.subarray(1));
      const refused: unknown = await altered.store(objects.link()).catch((error: unknown) => error);
      objects.alterUploads((content) => content);
      expect(String(refused)).toMatch(/differs/);
      // Another try with another link is the caller's to make.
      await altered.store(objects.link());

      // A link that was used for something else: whoever asks is told, without the link.
      const failed: unknown = await twice.store(link).catch((error: unknown) => error);
      expect(String(failed)).toMatch(/differs/);
      expect(String(failed)).not.toContain(objects.url);
      await Promise.all(kept.map((content) => content.drop()));
    });

    it('shows the program no link', async () => {
      const code = [
        'import glob, os, sys',
        'seen = [str(dict(os.environ)), str(sys.argv), str(globals()), str(os.listdir("."))]',
        'for path in glob.glob("/proc/**/environ", recursive=True) + glob.glob("/proc/**/cmdline", recursive=True):',
        '    try: seen.append(open(path).read())',
        '    except OSError: pass',
        'print("\\n".join(seen))',
      ].join('\n');
      const { sink } = await run(specOf(code, { files: [objects.input('a.csv', 'a,b\n1,2\n')] }));
      expect(sink.stdout.toString()).toContain('a.csv');
      expect(sink.stdout.toString()).not.toContain(objects.url);
      expect(sink.stdout.toString()).not.toContain('http');
    });

    it('delivers a shown chart as an image and a table as data', async () => {
      const code = [
        'import matplotlib.pyplot as plt',
        'import pandas as pd',
        "plt.plot([1, 2, 3]); plt.title('趋势')",
        'plt.show()',
        "pd.DataFrame({'月': ['一', '二'], 'n': [1, 2]})",
      ].join('\n');
      const { report, sink } = await run(specOf(code));
      expect(report.verdict).toBe('ok');
      expect(sink.displays).toHaveLength(2);
      expect(sink.displays[0]?.head.mimeType).toBe('image/png');
      expect(sink.displays[0]?.content?.subarray(1, 4).toString()).toBe('PNG');
      expect(sink.displays[1]?.head.table).toMatchObject({
        rows: [
          ['一', 1],
          ['二', 2],
        ],
        totalRows: 2,
      });
    });

    it('hands output over while the program runs', async () => {
      const sink = new RecordingSink();
      const early = new Promise<void>((resolve) => {
        sink.onOutput = (text) => {
          if (text.includes('first')) resolve();
        };
      });
      const stop = new AbortController();
      const running = runner.run(specOf("import time\nprint('first')\ntime.sleep(20)"), sink, stop.signal);
      await early;
      stop.abort();
      expect((await running).verdict).toBe('cancelled');
      expect(sink.stdout.toString()).toBe('first\n');
    });

    it.each([
      ['timeout_wall', 'import time\ntime.sleep(30)', { wallSeconds: 0.5 }],
      ['timeout_cpu', 'while True: pass', { cpuSeconds: 1, wallSeconds: 20 }],
      ['memory_limit', 'a = []\nwhile True: a.append(bytearray(10_000_000))', { memoryBytes: 256 * 1024 * 1024 }],
      ['disk_limit', "open('x', 'wb').write(b'0' * 50_000_000)", { diskBytes: 8 * 1024 * 1024 }],
    ] as const)('ends with %s when that limit is reached', async (verdict, code, limits) => {
      const { report } = await run(specOf(code, { limits }));
      expect(report.verdict).toBe(verdict);
      expect(report.error?.explanation.en).toBeTruthy();
    });

    it('relays no more output than the limit and counts the rest', async () => {
      const { report, sink } = await run(
        specOf("import sys\nfor i in range(2000): sys.stdout.write('x' * 1000)", { limits: { outputBytes: 65_536 } }),
      );
      expect(report.truncated.stdout).toBe(true);
      expect(sink.stdout.byteLength).toBeLessThan(200_000);
      expect(sink.stdout.byteLength).toBeGreaterThanOrEqual(32_768);
    });

    it('cannot be told a result by the program', async () => {
      const code = [
        'import os, struct, json',
        "frame = json.dumps({'verdict': 'ok', 'forged': True}).encode()",
        'for fd in range(3, 256):',
        '    try: os.write(fd, struct.pack("<I", len(frame) + 1) + b"R" + frame)',
        '    except OSError: pass',
        'print(\'{"verdict": "ok"}\')',
        'raise ValueError("real")',
      ].join('\n');
      const { report } = await run(specOf(code));
      expect(report).not.toHaveProperty('forged');
      expect(report.verdict).not.toBe('ok');
    });

    it('lets no run see what another one left', async () => {
      await run(specOf("open('left.txt', 'w').write('x'); open('/tmp/left.txt', 'w').write('x')"));
      const { sink } = await run(specOf("import os\nprint(os.listdir('.'), os.listdir('/tmp'))"));
      expect(sink.stdout.toString()).not.toContain('left.txt');
    });

    it('runs as many at once as it has slots, and more after them', async () => {
      await until(() => runner.status().idle > 0, { what: 'a sandbox is idle', timeoutMs: 60_000 });
      const codes = Array.from({ length: runner.slots * 3 }, (_, i) => specOf(`print(${i})`));
      const results = await Promise.all(codes.map((spec) => run(spec)));
      expect(results.map(({ sink }) => sink.stdout.toString())).toEqual(codes.map((_, i) => `${i}\n`));
    });

    it('gives up what a sink refuses and stays whole', async () => {
      const sink = new RecordingSink();
      sink.onOutput = () => {
        throw new Error('refused');
      };
      await expect(runner.run(specOf('print(1)\nimport time\ntime.sleep(20)'), sink, never)).rejects.toThrow('refused');
      expect((await run(specOf('print(2)'))).report.verdict).toBe('ok');
    });

    it.each([
      ['input_altered', 'is shorter than recorded', { bytes: 100 }],
      ['input_altered', 'is longer than recorded', { bytes: 3 }],
      ['input_altered', 'has other bytes', { sha256: sha256(Buffer.from('other')) }],
      ['input_unavailable', 'is not there', { url: '' }],
    ] as const)('does not start (%s) on an input that %s', async (fault, _how, wrong) => {
      const input: RunInput = { ...objects.input('a.csv', 'a,b\n1,2\n'), ...wrong };
      const files = [objects.input('good.csv', 'a\n1\n'), input.url ? input : { ...input, url: `${objects.url}/none` }];
      const sink = new RecordingSink(objects);
      const failed: unknown = await runner.run(specOf('print(1)', { files }), sink, never).catch((error) => error);
      expect(failed).toMatchObject({ name: 'RunnerError', fault });
      expect(String(failed)).not.toContain(objects.url);
      expect(sink.startedAt).toBeNull();
    });

    it('is not started when it was cancelled before', async () => {
      const { report, sink } = await run(specOf('print(1)'), AbortSignal.abort());
      expect(report.verdict).toBe('cancelled');
      expect(sink.stdout.byteLength).toBe(0);
    });
  });
}
