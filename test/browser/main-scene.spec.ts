import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { chooseReply, type ModelServer, type Reply, type Script } from '@moli/scripted-model';
import { testFolder } from '@moli/testing';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { mainScene, playModel, salesCsv } from '../support/scene.ts';
import { shoot, useBrowser } from './browser.fixture.ts';
import { Chat, dropFiles, stored } from './chat.fixture.ts';
import { pattern } from './words.fixture.ts';

const QUESTION = {
  zh: '分析最近三个月的销售趋势，画一张折线图',
  en: 'Analyse the sales trend of the last three months and draw a line chart',
};
/** Makes the program last long enough to be seen running. */
const PAUSE = 'import time\ntime.sleep(1)\n';
/** Between the first words: slow enough that they come in many pieces on a busy machine too. */
const WORD_MS = 60;

const surf = useBrowser();
let model: ModelServer;
let csv: string;
beforeAll(async () => {
  csv = join(testFolder('drop'), 'sales_data.csv');
  writeFileSync(csv, salesCsv());
  model = await playModel(watchable(mainScene));
});
afterAll(() => model?.stop());

test('a file is dropped, words and a chart come, and everything can be done with the chart', async () => {
  const page = await surf.open();
  const chat = new Chat(page);
  await dropSales(chat);
  const seen = await record(chat);
  await chat.ask(QUESTION.zh);
  const answer = await chat.answered();

  const { texts, stages, facts } = await seen();
  expect(texts.length).toBeGreaterThan(5);
  for (const [at, length] of texts.entries()) expect(length).toBeGreaterThan(texts[at - 1] ?? 0);
  const order = ['queued', 'preparing', 'running', 'collecting'].map((name) => chat.say(`run.stage.${name}`));
  expect(stages).toContain(chat.say('run.stage.running'));
  expect(stages).toEqual(order.filter((name) => stages.includes(name)));
  expect(new Set(facts.filter((text) => /\d/.test(text))).size).toBeGreaterThan(2);

  const message = (await stored(surf.person.api, chat.sessionId)).at(-1);
  const total = /\*\*([\d,.]+)\*\*/.exec(message?.text ?? '')?.[1] ?? 'no total';
  await answer.getByText(total).waitFor();

  const chart = answer.getByRole('img', { name: 'sales_trend.png' });
  await expectDrawn(chart);
  await shoot(page, 'main-scene-zh-light');

  const artifact = message?.tools[0]?.artifacts[0];
  const bytes = await surf.person.api.bytes(`/v1/artifacts/${artifact?.id}/content`);
  await openLarge(chat, answer);
  await download(chat, answer, bytes);
  await copyChart(chat, answer);
  await foldAndUnfold(chat, answer);
  await runAgain(chat, answer);
  await trace(chat);
});

test.each([
  ['zh', 'dark'],
  ['en', 'light'],
  ['en', 'dark'],
] as const)('the same scene in %s, %s', async (locale, theme) => {
  const page = await surf.open({ locale, theme });
  const chat = new Chat(page, locale);
  await dropSales(chat);
  await chat.ask(QUESTION[locale]);
  const answer = await chat.answered();
  await chat.run('run.python.ok', answer).waitFor();
  await expectDrawn(answer.getByRole('img', { name: 'sales_trend.png' }));
  await page.keyboard.press('Alt+t');
  await page.getByRole('complementary', { name: chat.say('inspector.title') }).waitFor();
  await shoot(page, `main-scene-${locale}-${theme}`);
});

async function dropSales(chat: Chat): Promise<void> {
  await chat.field.waitFor();
  const overlay = chat.page.getByRole('status').filter({ hasText: chat.say('drop.title', { n: 1 }) });
  await dropFiles(chat.page, [csv], () => overlay.waitFor());
  await overlay.waitFor({ state: 'detached' });
  const chip = chat.attached('sales_data.csv');
  await chip.getByText(chat.say('file.columns', { n: 5 })).waitFor();
  const text = await chip.textContent();
  expect(text).toContain('UTF-8');
  expect(text).toContain(chat.say('file.rows', { n: '915' }));
}

interface Seen {
  /** Lengths of the answer's text, one for each time it grew. */
  texts: number[];
  /** Stages of the run, in the order in which they were the current one. */
  stages: string[];
  /** What the head of the run block said beside its title. */
  facts: string[];
}

/** Notes what the page shows from now on; the answer stops it. Words before the run are those that must be seen to grow. */
async function record({ page, locale }: Chat): Promise<() => Promise<Seen>> {
  const notes = await page.evaluateHandle((name) => {
    const seen: { texts: number[]; stages: string[]; facts: string[] } = { texts: [], stages: [], facts: [] };
    new MutationObserver(() => {
      const answer = [...document.querySelectorAll('article')].find((article) =>
        new RegExp(name).test(article.ariaLabel ?? ''),
      );
      const run = answer?.querySelector('[role=group]');
      const waiting = run ?? answer?.querySelector('[role=status]');
      const length = answer && !waiting ? (answer.textContent ?? '').length : 0;
      if (length > (seen.texts.at(-1) ?? 0)) seen.texts.push(length);
      const stage = run?.querySelector('[aria-current=step]')?.textContent?.trim();
      if (stage && seen.stages.at(-1) !== stage) seen.stages.push(stage);
      const fact = run?.querySelector('button')?.textContent ?? '';
      if (fact && seen.facts.at(-1) !== fact) seen.facts.push(fact);
    }).observe(document.body, { subtree: true, childList: true, characterData: true, attributes: true });
    return seen;
  }, pattern(locale, 'chat.answerOf').source);
  return () => notes.jsonValue();
}

/** The picture has loaded and is no blank one: many colours, and much of it is not the paper's white. */
async function expectDrawn(image: Locator): Promise<void> {
  await image.waitFor();
  await expect.poll(() => image.evaluate((element) => (element as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
  const { colours, ink } = await image.evaluate((element) => {
    const picture = element as HTMLImageElement;
    const canvas = document.createElement('canvas');
    canvas.width = picture.naturalWidth;
    canvas.height = picture.naturalHeight;
    const paper = canvas.getContext('2d') as CanvasRenderingContext2D;
    paper.drawImage(picture, 0, 0);
    const pixels = new Uint32Array(paper.getImageData(0, 0, canvas.width, canvas.height).data.buffer);
    return { colours: new Set(pixels).size, ink: pixels.filter((pixel) => pixel !== 0xffffffff).length };
  });
  expect(colours).toBeGreaterThan(50);
  expect(ink).toBeGreaterThan(5_000);
}

async function openLarge(chat: Chat, answer: Locator): Promise<void> {
  await chat.button('display.openLarge', answer).first().click();
  const dialog = chat.page.getByRole('dialog', { name: 'sales_trend.png' });
  await expectDrawn(dialog.getByRole('img', { name: 'sales_trend.png' }));
  await chat.page.keyboard.press('Escape');
  await dialog.waitFor({ state: 'detached' });
}

async function download(chat: Chat, answer: Locator, bytes: Buffer): Promise<void> {
  const coming = chat.page.waitForEvent('download');
  await answer.getByRole('link', { name: chat.say('display.download', { name: 'sales_trend.png' }) }).click();
  const file = await coming;
  expect(file.suggestedFilename()).toBe('sales_trend.png');
  const saved = readFileSync(await file.path());
  expect(saved.subarray(0, 8).toString('latin1')).toBe('\x89PNG\r\n\x1a\n');
  expect(saved.equals(bytes)).toBe(true);
}

async function copyChart(chat: Chat, answer: Locator): Promise<void> {
  await chat.button('display.copyImage', answer).click();
  await chat.page.getByText(chat.say('display.imageCopied')).waitFor();
  const types = await chat.page.evaluate(async () => (await navigator.clipboard.read())[0]?.types);
  expect(types).toContain('image/png');
}

async function foldAndUnfold(chat: Chat, answer: Locator): Promise<void> {
  const head = chat.run('run.python.ok', answer).getByRole('button').first();
  const code = answer.getByText('plt.savefig("sales_trend.png", dpi=150)');
  expect([await head.getAttribute('aria-expanded'), await code.isVisible()]).toEqual(['false', false]);
  await head.click();
  await code.waitFor();
  await chat.page.keyboard.press('Alt+c');
  await code.waitFor({ state: 'hidden' });
  await chat.page.keyboard.press('Alt+c');
  await code.waitFor();
  await chat.page.keyboard.press('Alt+c');
}

async function runAgain(chat: Chat, answer: Locator): Promise<void> {
  await chat.button('run.again', answer).click();
  await answer.getByText(chat.say('run.round', { n: 2 }), { exact: true }).waitFor();
  const runs = chat.run('run.python.ok', answer);
  await expect.poll(() => runs.count(), { timeout: 30_000 }).toBe(2);
  const charts = answer.getByRole('img', { name: 'sales_trend.png' });
  await charts.nth(1).waitFor();
  for (const chart of await charts.all()) await expectDrawn(chart);
  const sources = await charts.evaluateAll((images) => images.map((image) => (image as HTMLImageElement).src));
  expect(new Set(sources).size).toBe(2);
  const [first, second] = await Promise.all([0, 1].map((n) => charts.nth(n).boundingBox()));
  expect(second?.x).toBeGreaterThan((first?.x ?? 0) + (first?.width ?? 0) - 1);
  await shoot(chat.page, 'run-again');
}

async function trace(chat: Chat): Promise<void> {
  await chat.page.keyboard.press('Alt+t');
  const panel = chat.page.getByRole('complementary', { name: chat.say('inspector.title') });
  const step = panel.getByRole('listitem').filter({ hasText: 'run_python' });
  const text = await step.textContent();
  expect(text).toContain('按日期汇总最近三个月的销售额');
  expect(text).toContain('import time');
  expect(text).toContain(chat.say('run.charts', { n: 1 }));
  expect(text).toMatch(/\d+(\.\d+)? (秒|毫秒)/);
  await chat.button('inspector.close', panel).click();
  await panel.waitFor({ state: 'detached' });
}

/** The scene at the pace of a person who looks: slower words, a program that lasts a moment. */
function watchable(script: Script): Script {
  return script.map((rule) => ({
    ...rule,
    reply: (request) => {
      const reply = chooseReply([rule], request, new Map()) as Extract<Reply, { steps: unknown }>;
      const steps = reply.steps.map((step) => {
        if ('text' in step && rule.tool === false) return { ...step, delayMs: WORD_MS };
        if (!('call' in step)) return step;
        const { code } = step.call.arguments as { code: string };
        return { ...step, call: { ...step.call, arguments: { code: PAUSE + code } } };
      });
      return { ...reply, steps };
    },
  }));
}
