import { readFileSync } from 'node:fs';
import type { ModelServer } from '@moli/scripted-model';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collect, newSession, playModel, runsProgram, send } from '../support/scene.ts';
import { expectAccessible } from './axe.fixture.ts';
import { shoot, useBrowser } from './browser.fixture.ts';
import { Chat, stored } from './chat.fixture.ts';
import type { Locale } from './words.fixture.ts';

const PROGRAMS = {
  column: `import pandas as pd
df = pd.DataFrame({"销售额": [1, 2], "日期": ["2026-01-01", "2026-01-02"]})
print(df["销售"].sum())
`,
  streams: `import sys
print("this went out")
print("this is a warning", file=sys.stderr)
`,
  table: `import pandas as pd
pd.DataFrame({"产品": ["普洱", "龙井, 明前", "乌龙"], "数量": [12, 3, 100], "备注": ["=1+1", '"好"', None]})
`,
  page: `class Page:
    def _repr_html_(self):
        return """<p id="seen">waiting</p><script>
const seen = [];
const tried = (name, work) => { try { work(); seen.push(name); } catch { seen.push("no " + name); } };
tried("document", () => parent.document.title);
tried("storage", () => localStorage.length);
tried("cookie", () => document.cookie);
tried("navigation", () => { top.location.href = "/settings/models"; });
new Image().src = "https://example.org/pixel.png";
fetch("/v1/me").then(() => seen.push("fetch"), () => seen.push("no fetch"))
  .finally(() => { document.getElementById("seen").textContent = seen.join(", "); });
</script>"""

Page()
`,
  short: htmlPage('<p>One line.</p><script>parent.postMessage({ moliFrameHeight: "9000" }, "*")</script>'),
  long: htmlPage(`<ol>${'<li>A row</li>'.repeat(200)}</ol>`),
};

/** A program that shows this HTML. */
function htmlPage(html: string): string {
  return `class Page:\n    def _repr_html_(self):\n        return ${JSON.stringify(html)}\n\nPage()\n`;
}

const surf = useBrowser();
let model: ModelServer;
beforeAll(async () => {
  model = await playModel(
    Object.entries(PROGRAMS).flatMap(([name, code]) => runsProgram(code).map((rule) => ({ ...rule, user: name }))),
  );
});
afterAll(() => model?.stop());

/** A chat in which this program has run. */
async function ran(name: keyof typeof PROGRAMS): Promise<string> {
  const { api } = surf.person;
  const sessionId = await newSession(api);
  await send(api, sessionId, `Run the program "${name}".`);
  await collect(api, sessionId);
  return sessionId;
}

/** Chinese by day, English by night: both themes are looked at. */
async function look(sessionId: string, locale: Locale): Promise<{ chat: Chat; answer: Locator }> {
  const theme = locale === 'zh' ? 'light' : 'dark';
  const chat = new Chat(await surf.open({ locale, theme, path: `/c/${sessionId}` }), locale);
  return { chat, answer: await chat.answered() };
}

test('an error of a program: first what it means, in the language of the reader, then the line, then all of it on demand', async () => {
  const sessionId = await ran('column');
  const tool = (await stored(surf.person.api, sessionId)).at(-1)?.tools[0];
  const explanation = tool?.error?.explanation;
  expect(explanation?.zh).not.toBe(explanation?.en);
  for (const locale of ['zh', 'en'] as const) {
    const { chat, answer } = await look(sessionId, locale);
    const block = chat.run('run.python.error', answer);
    const sentence = block.getByText(explanation?.[locale] ?? 'no explanation', { exact: true });
    await sentence.waitFor();
    expect(await sentence.textContent()).toContain('销售额');
    const line = block.getByText('print(df["销售"].sum())', { exact: true });
    const full = block.getByText('Traceback (most recent call last)');
    expect([await line.isVisible(), await full.isVisible()]).toEqual([true, false]);
    const text = (await block.textContent()) ?? '';
    expect(text.indexOf(explanation?.[locale] ?? '')).toBeLessThan(text.indexOf('print(df['));
    await block.getByText(chat.say('run.fullError')).click();
    await full.waitFor();
    expect(await full.textContent()).toContain('KeyError');
    await expectAccessible(chat.page, `an error in ${locale}`);
    await shoot(chat.page, `error-${locale}`);
  }
});

test('what a program prints and what it warns of stand apart', async () => {
  const { chat, answer } = await look(await ran('streams'), 'en');
  const block = chat.run('run.python.ok', answer);
  await block.getByRole('button').first().click();
  await block.getByText(chat.say('run.warnings')).waitFor();
  const prints = (await block.locator('pre').allTextContents()).map((text) => text.trim());
  expect(prints).toContain('this went out');
  expect(prints).toContain('this is a warning');
  await expectAccessible(chat.page, 'output');
  await shoot(chat.page, 'output');
});

test('a DataFrame is a real table: sorted, copied, and saved for a spreadsheet (DSP-14)', async () => {
  const { chat, answer } = await look(await ran('table'), 'zh');
  const table = answer.getByRole('table');
  const column = (n: number) => table.locator(`tbody tr td:nth-child(${n})`).allTextContents();
  const heads = table.getByRole('columnheader');
  const at = (await heads.allTextContents()).findIndex((text) => text.startsWith('数量')) + 1;
  const head = heads.nth(at - 1);
  const button = head.getByRole('button');
  expect(await column(at)).toEqual(['12', '3', '100']);
  await button.click();
  expect([await head.getAttribute('aria-sort'), await column(at)]).toEqual(['ascending', ['3', '12', '100']]);
  await button.click();
  expect([await head.getAttribute('aria-sort'), await column(at)]).toEqual(['descending', ['100', '12', '3']]);
  await expectAccessible(chat.page, 'a table');
  await shoot(chat.page, 'table');

  await chat.button('table.copy', answer).click();
  await chat.page.getByText(chat.say('table.copied')).waitFor();
  const copied = (await chat.page.evaluate(() => navigator.clipboard.readText())).split('\n');
  expect(copied.map((line) => line.split('\t')[at - 1])).toEqual(['数量', '100', '12', '3']);

  const coming = chat.page.waitForEvent('download');
  await chat.button('table.saveCsv', answer).click();
  const file = readFileSync(await (await coming).path());
  expect([...file.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
  const lines = file.subarray(3).toString('utf8').split('\r\n');
  expect(lines[0]).toContain('产品,数量,备注');
  expect(lines.slice(1, 4).map((line) => line.replace(/^\d+,(?=\D)/, ''))).toEqual([
    '乌龙,100,',
    "普洱,12,'=1+1",
    '"龙井, 明前",3,"""好"""',
  ]);
});

test('a page that a program made runs sealed: it reaches neither our page nor any server', async () => {
  const sessionId = await ran('page');
  // What the sealed page tries is refused by the browser, and the browser says so in the console.
  const allowed = [/^console: .*(violat|Unsafe attempt|blocked)/i, /^request: https:\/\/example\.org\/pixel\.png$/];
  const answered: string[] = [];
  const page = await surf.open({
    locale: 'en',
    path: `/c/${sessionId}`,
    allowed,
    prepare: async (target) => {
      target.on('response', (response) => {
        if (response.frame() !== target.mainFrame()) answered.push(new URL(response.url()).pathname);
      });
    },
  });
  const chat = new Chat(page, 'en');
  const answer = await chat.answered();
  const frame = answer.locator('iframe');
  await frame.scrollIntoViewIfNeeded();
  expect(await frame.getAttribute('sandbox')).toBe('allow-scripts');
  const seen = frame.contentFrame().locator('#seen');
  await expect
    .poll(() => seen.textContent(), { timeout: 30_000 })
    .toBe('no document, no storage, no cookie, no navigation, no fetch');
  await shoot(page, 'sealed-page');
  expect(answered.filter((path) => !/^\/v1\/artifacts\/[^/]+\/content$/.test(path))).toEqual([]);
  expect(new URL(chat.page.url()).pathname).toBe(`/c/${sessionId}`);
});

test('a page of a run is as high as its content, within bounds, and keys reach what is out of sight', async () => {
  const short = await look(await ran('short'), 'zh');
  const frame = short.answer.locator('iframe');
  await frame.scrollIntoViewIfNeeded();
  await frame.contentFrame().getByText('One line.').waitFor();
  await expect.poll(() => heightOf(frame)).toBeLessThan(100);
  // What others tell is not believed: neither our own page nor another frame is the sealed page.
  await short.chat.page.evaluate(() => window.postMessage({ moliFrameHeight: 500 }, '*'));
  await expectAccessible(short.chat.page, 'a short page');
  expect(await heightOf(frame)).toBeLessThan(100);

  const { chat, answer } = await look(await ran('long'), 'en');
  const high = answer.locator('iframe');
  await high.scrollIntoViewIfNeeded();
  await expect.poll(() => heightOf(high)).toBe(640);
  const rows = high.contentFrame().locator('html');
  const scrolled = () => rows.evaluate(() => window.scrollY);
  await chat.run('run.python.ok', answer).getByRole('button').first().focus();
  await chat.page.keyboard.press('Tab');
  expect(await high.evaluate((element) => element === document.activeElement)).toBe(true);
  await chat.page.keyboard.press('End');
  await expect.poll(scrolled).toBeGreaterThan(1000);
  await shoot(chat.page, 'long-page');
  await chat.page.keyboard.press('Tab');
  expect(await high.evaluate((element) => element === document.activeElement)).toBe(false);
});

async function heightOf(frame: Locator): Promise<number> {
  return (await frame.boundingBox())?.height ?? 0;
}
