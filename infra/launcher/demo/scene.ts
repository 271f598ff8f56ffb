import { writeFileSync } from 'node:fs';
import type { Text } from '../words.ts';
import { ApiClient, type SessionEvent } from './client.ts';
import { salesCsv } from './sales-data.ts';

const QUESTION = '分析最近三个月的销售趋势，画一张折线图';
const FILE = 'sales_data.csv';
// The scene takes seconds; a machine that is busy may take its time, a turn that hangs may not.
const SCENE_TIMEOUT_MS = 120_000;

export interface SceneOptions {
  readonly origin: string;
  readonly key: string;
  /** Where the chart is written to. */
  readonly chart: string;
  /** Says that a step is done; the caller adds the time. */
  readonly done: (step: Text) => void;
}

interface Artifact {
  readonly id: string;
  readonly name: string;
  readonly mimeType: string;
  readonly bytes: number;
}

/** Plays the main scene over HTTP: a CSV goes in, words and a chart come out. Throws when any part of it does not happen. */
export async function playScene({ origin, key, chart, done }: SceneOptions): Promise<void> {
  const api = new ApiClient(origin, key);
  const settings = await api.call<{ scripted: boolean }>('GET', '/v1/settings');
  if (!settings.scripted) throw new Error('the demo model is not labelled as scripted');
  const session = await api.call<{ id: string }>('POST', '/v1/sessions', {});
  const content = Buffer.from(salesCsv(), 'utf8');
  const fileId = await api.upload(content, FILE, session.id);
  const file = await api.call<{
    bytes: number;
    table?: { encoding: string; rows: number; columns: { name: string }[] };
  }>('GET', `/v1/files/${fileId}`);
  if (file.bytes !== content.length || !file.table) throw new Error(`the file arrived as ${JSON.stringify(file)}`);
  const columns = file.table.columns.map((column) => column.name).join(', ');
  done({
    zh: `上传 ${FILE}：${file.bytes} 字节，${file.table.rows} 行，${file.table.encoding}，列 ${columns}`,
    en: `Uploaded ${FILE}: ${file.bytes} bytes, ${file.table.rows} rows, ${file.table.encoding}, columns ${columns}`,
  });
  await api.call('POST', `/v1/sessions/${session.id}/messages`, { text: QUESTION, fileIds: [fileId], locale: 'zh' });
  done({ zh: `提问「${QUESTION}」`, en: `Asked 「${QUESTION}」` });
  const image = await follow(api.events(session.id, AbortSignal.timeout(SCENE_TIMEOUT_MS)), done);
  const bytes = await api.bytes(`/v1/artifacts/${image.id}/content`);
  if (bytes.length !== image.bytes || bytes.subarray(1, 4).toString() !== 'PNG')
    throw new Error(`${image.name} is not the PNG that was announced`);
  writeFileSync(chart, bytes);
  done({ zh: `图表已保存：${chart}`, en: `The chart is at ${chart}` });
}

/** Reads the turn to its end; answers the chart that it made. */
async function follow(events: AsyncGenerator<SessionEvent>, done: (step: Text) => void): Promise<Artifact> {
  let chart: Artifact | undefined;
  let words = 0;
  for await (const { type, data } of events) {
    if (type === 'text.delta' && words++ === 0) done({ zh: '回答开始出现', en: 'First words of the answer' });
    if (type === 'tool.call') done({ zh: `模型调用 ${data.name}`, en: `The model calls ${data.name}` });
    if (type === 'tool.result') {
      chart = (data.artifacts as Artifact[]).find((artifact) => artifact.mimeType === 'image/png');
      const times = data.timings as Record<string, number> | undefined;
      const run = times
        ? ` (${Object.entries(times)
            .map(([name, ms]) => `${name} ${Math.round(ms)}`)
            .join(', ')})`
        : '';
      if (!data.ok) throw new Error(`the program failed: ${data.content}`);
      done({ zh: `程序运行完毕${run}，产物：${chart?.name}`, en: `The program ran${run} and made ${chart?.name}` });
    }
    if (type === 'message.completed') {
      const text = String(data.text).trim();
      done({ zh: `回答：\n${indented(text)}`, en: `The answer:\n${indented(text)}` });
    }
    if (type === 'turn.completed') {
      if (!chart) throw new Error('the turn ended without a chart');
      return chart;
    }
    if (/^turn\.(failed|stopped|interrupted)$/.test(type)) throw new Error(`${type}: ${JSON.stringify(data)}`);
  }
  throw new Error('the stream of events ended before the turn');
}

function indented(text: string): string {
  return text
    .split('\n')
    .map((line) => `      ${line}`)
    .join('\n');
}
