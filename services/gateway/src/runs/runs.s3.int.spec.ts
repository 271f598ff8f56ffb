import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startObjects, type TestGateway } from '../gateway.fixture.ts';
import { startExecutor, startRunsGateway, type TestExecutor } from './runs.fixture.ts';
import { RunsClient } from './runs-client.fixture.ts';

let objects: Awaited<ReturnType<typeof startObjects>>;
let gateway: TestGateway;
let executor: TestExecutor;
let client: RunsClient;
let key: string;

beforeAll(async () => {
  objects = await startObjects('s3');
  gateway = await startRunsGateway(objects.env);
  executor = await startExecutor(gateway.redis.url);
  key = (await gateway.newTenant('Runs')).keys.member;
  client = new RunsClient(gateway, key);
});
afterAll(async () => {
  await executor?.stop();
  await gateway?.close();
  await objects?.stop();
});

describe('a run with its files in S3', () => {
  it('reads its input and leaves its chart by links to the bucket alone', async () => {
    const id = await client.upload('销售.csv', '月份,销售额\n一月,100\n二月,150\n');
    const code = [
      'import pandas as pd, matplotlib.pyplot as plt',
      "pd.read_csv('sales.csv').plot(x='月份', y='销售额')",
      "plt.savefig('trend.png')",
      "open('page.html', 'w').write('<script>1</script>')",
    ].join('\n');
    const { json } = await client.execute({ code, files: [{ id, name: 'sales.csv' }] });
    expect(json).toMatchObject({ verdict: 'ok', stderr: '' });
    const named = (name: string) => json.artifacts.find((artifact: { name: string }) => artifact.name === name);
    const [chart, page] = [named('trend.png'), named('page.html')];

    const content = await fetch(`${gateway.url}/v1/artifacts/${chart.id}/content`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const bytes = Buffer.from(await content.arrayBuffer());
    expect(createHash('sha256').update(bytes).digest('hex')).toBe(chart.sha256);
    expect(new URL(chart.url).origin).toBe(objects.env.MOLI_S3_ENDPOINT);
    const linked = await fetch(chart.url);
    expect(linked.headers.get('content-type')).toBe('image/png');
    expect(Buffer.from(await linked.arrayBuffer()).equals(bytes)).toBe(true);

    const sealed = await gateway.ask(`/v1/artifacts/${page.id}/content`, { key });
    expect(sealed.headers.get('content-security-policy')).toContain('sandbox');
    expect(sealed.text).toBe('<script>1</script>');
    const outside = await fetch(page.url);
    expect(await outside.text()).toBe('<script>1</script>');
    expect(outside.headers.get('content-disposition')).toMatch(/^attachment/);
  });
});
