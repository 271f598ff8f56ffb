import { createHash } from 'node:crypto';
import { type Answer, ask } from './api.ts';
import { SelftestFailure } from './failure.ts';

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

/** What went wrong in the words of the API. */
function refused(step: { zh: string; en: string }, answer: Answer): SelftestFailure {
  const detail = answer.json?.detail ?? answer.text.slice(0, 300);
  return new SelftestFailure({
    zh: `${step.zh}失败：HTTP ${answer.status} ${detail}`,
    en: `${step.en} failed: HTTP ${answer.status} ${detail}`,
  });
}

export interface Job {
  upload(): Promise<void>;
  run(): Promise<Readonly<Record<string, number>>>;
  chart(): Promise<number>;
  /** Takes away what it made. Safe at any point. */
  clean(): Promise<void>;
}

/** The main scene without a model: a table goes in, a program draws it, the chart comes out, all by the public API. */
export function csvToChart(gateway: string, key: string): Job {
  const authorization = { authorization: `Bearer ${key}` };
  const post = (path: string, body: unknown) =>
    ask(`${gateway}${path}`, {
      method: 'POST',
      headers: { ...authorization, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  const { csv, sum } = sales();
  let session = '';
  let fileId = '';
  let artifact: { id: string; bytes: number; sha256: string } | undefined;

  return {
    upload: async () => {
      const made = await post('/v1/sessions', { title: 'selftest' });
      if (made.status !== 201) throw refused({ zh: '创建会话', en: 'Making a session' }, made);
      session = made.json.id;
      const form = new FormData();
      form.set('sessionId', session);
      form.set('file', new File([csv], FILE, { type: 'text/csv' }));
      const sent = await ask(`${gateway}/v1/files`, { method: 'POST', headers: authorization, body: form });
      if (sent.status !== 201) throw refused({ zh: '上传', en: 'The upload' }, sent);
      fileId = sent.json.id;
      const rows = sent.json.table?.rows;
      if (sent.json.bytes !== Buffer.byteLength(csv) || rows !== 12) {
        throw refused({ zh: '检查上传的文件', en: 'Looking at the uploaded file' }, sent);
      }
    },
    run: async () => {
      const answer = await post('/v1/code/execute', {
        code: CODE,
        files: [{ id: fileId, name: FILE }],
        sessionId: session,
      });
      if (answer.status !== 200) throw refused({ zh: '运行', en: 'The run' }, answer);
      const { verdict, stdout, stderr, artifacts, timings } = answer.json;
      if (verdict !== 'ok' || String(stdout).trim() !== String(sum)) {
        const said = String(stderr || stdout).slice(-500);
        throw new SelftestFailure({
          zh: `程序没有正确结束（${verdict}）：${said}`,
          en: `The program did not end well (${verdict}): ${said}`,
        });
      }
      artifact = artifacts.find(({ name }: { name: string }) => name === CHART);
      return timings;
    },
    chart: async () => {
      if (!artifact) throw new SelftestFailure({ zh: '程序没有产出图表。', en: 'The program made no chart.' });
      const { bytes, status } = await ask(`${gateway}/v1/artifacts/${artifact.id}/content`, { headers: authorization });
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
      const remove = (path: string) => ask(`${gateway}${path}`, { method: 'DELETE', headers: authorization });
      if (fileId) await remove(`/v1/files/${fileId}`);
      if (session) await remove(`/v1/sessions/${session}`);
    },
  };
}
