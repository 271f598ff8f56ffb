import { createHash } from 'node:crypto';
import { z } from 'zod';
import { File } from '../../files/files.schema.ts';
import { RunResult } from '../../runs/runs.schema.ts';
import { Session, SessionPage } from '../../sessions/sessions.schema.ts';
import { type Answer, ask, bodyOf } from './api.ts';
import { SelftestFailure, type Text } from './failure.ts';

const FILE = 'sales.csv';
const CHART = 'trend.png';
const CODE = `import pandas as pd
import matplotlib.pyplot as plt
table = pd.read_csv(${JSON.stringify(FILE)})
months = table.groupby('月份')['销售额'].sum()
months.plot(kind='line', marker='o', title='销售额')
plt.savefig(${JSON.stringify(CHART)})
print(int(months.sum()))
`;

/** Twelve months and their sales, and the sum that the program has to print. */
function sales(): { csv: string; sum: number } {
  const values = Array.from({ length: 12 }, (_, month) => 1000 + 37 * month);
  const rows = values.map((value, month) => `2026-${String(month + 1).padStart(2, '0')},${value}`);
  return { csv: `月份,销售额\n${rows.join('\n')}\n`, sum: values.reduce((a, b) => a + b, 0) };
}

/** What a problem says of itself. */
const ProblemDetail = z.object({ detail: z.string() });

/** What went wrong in the words of the API. */
function refused(step: Text, answer: Answer): SelftestFailure {
  const detail = bodyOf(answer, ProblemDetail)?.detail ?? answer.text.slice(0, 300);
  return new SelftestFailure({
    zh: `${step.zh}失败：HTTP ${answer.status} ${detail}`,
    en: `${step.en} failed: HTTP ${answer.status} ${detail}`,
  });
}

/** The body of an answer by its contract. Throws SelftestFailure for another status or shape. */
function expected<T>(step: Text, answer: Answer, status: number, shape: z.ZodType<T>): T {
  const body = answer.status === status ? bodyOf(answer, shape) : undefined;
  if (body === undefined) throw refused(step, answer);
  return body;
}

export interface Job {
  upload(): Promise<void>;
  run(): Promise<Readonly<Record<string, number>>>;
  chart(): Promise<number>;
  /** Deletes every chat of the tenant, with its files and runs: what this test made, and an earlier one that was killed. */
  clean(): Promise<void>;
}

/** The main scene without a model: a table goes in, a program draws it, the chart comes out, all by the public API. */
export function csvToChart(gateway: string, key: string): Job {
  const authorization = { authorization: `Bearer ${key}` };
  const call = (method: string, path: string) => ask(`${gateway}${path}`, { method, headers: authorization });
  const post = (path: string, body: unknown) =>
    ask(`${gateway}${path}`, {
      method: 'POST',
      headers: { ...authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const { csv, sum } = sales();
  let session = '';
  let fileId = '';
  let artifact: RunResult['artifacts'][number] | undefined;

  return {
    upload: async () => {
      const made = await post('/v1/sessions', { title: 'selftest' });
      session = expected({ zh: '创建会话', en: 'Making a session' }, made, 201, Session).id;
      const form = new FormData();
      form.set('sessionId', session);
      form.set('file', new globalThis.File([csv], FILE, { type: 'text/csv' }));
      const sent = await ask(`${gateway}/v1/files`, { method: 'POST', headers: authorization, body: form });
      const file = expected({ zh: '上传', en: 'The upload' }, sent, 201, File);
      fileId = file.id;
      if (file.bytes !== Buffer.byteLength(csv) || file.table?.rows !== 12) {
        throw refused({ zh: '检查上传的文件', en: 'Looking at the uploaded file' }, sent);
      }
    },
    run: async () => {
      const answer = await post('/v1/code/execute', {
        code: CODE,
        files: [{ id: fileId, name: FILE }],
        sessionId: session,
      });
      const result = expected({ zh: '运行', en: 'The run' }, answer, 200, RunResult);
      const { verdict, stdout, stderr, artifacts, timings } = result;
      if (verdict !== 'ok' || stdout.trim() !== String(sum)) {
        const said = (stderr || stdout).slice(-500);
        throw new SelftestFailure({
          zh: `程序没有正确结束（${verdict}）：${said}`,
          en: `The program did not end well (${verdict}): ${said}`,
        });
      }
      artifact = artifacts.find(({ name }) => name === CHART);
      return timings;
    },
    chart: async () => {
      if (!artifact) throw new SelftestFailure({ zh: '程序没有产出图表。', en: 'The program made no chart.' });
      const { bytes, status } = await call('GET', `/v1/artifacts/${artifact.id}/content`);
      const whole = createHash('sha256').update(bytes).digest('hex') === artifact.sha256;
      if (status !== 200 || !whole || bytes.subarray(1, 4).toString('latin1') !== 'PNG') {
        throw new SelftestFailure({
          zh: `下载的图表不完整（HTTP ${status}，${bytes.length} 字节）。`,
          en: `The chart that came back is not the one that was made (HTTP ${status}, ${bytes.length} bytes).`,
        });
      }
      return bytes.length;
    },
    clean: async () => {
      const step = { zh: '清除测试数据', en: 'Removing what the test made' };
      for (;;) {
        const { items } = expected(step, await call('GET', '/v1/sessions?limit=100'), 200, SessionPage);
        if (items.length === 0) return;
        for (const { id } of items) {
          const gone = await call('DELETE', `/v1/sessions/${id}`);
          if (gone.status !== 204 && gone.status !== 404) throw refused(step, gone);
        }
      }
    },
  };
}
