import type { ModelServer } from '@moli/scripted-model';
import { until } from '@moli/testing';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { longAnswer, newSession, playModel, send } from '../support/scene.ts';
import { useBrowser } from './browser.fixture.ts';
import { Chat, stored } from './chat.fixture.ts';

const QUESTIONS = 250;
const surf = useBrowser();
let model: ModelServer;
let sessionId: string;
beforeAll(async () => {
  model = await playModel([
    { user: 'talk on', reply: longAnswer(400, 25)[0]?.reply ?? { steps: [] } },
    {
      reply: (request) => ({
        steps: [{ text: `Answer to: ${String(request.messages.at(-1)?.content).slice(0, 40)}` }],
      }),
    },
  ]);
  const { api } = surf.person;
  sessionId = await newSession(api);
  for (let n = 1; n <= QUESTIONS; n += 1) await send(api, sessionId, `Question ${n} of many`);
  const answered = async () => (await stored(api, sessionId)).filter(({ status }) => status === 'completed').length;
  await until(async () => (await answered()) >= 2 * QUESTIONS, {
    what: 'the answers',
    timeoutMs: 240_000,
    everyMs: 500,
  });
});
afterAll(() => model?.stop());

/** Pixels between the reader and the end. */
function toEnd(view: Locator): Promise<number> {
  return view.evaluate((element) => element.scrollHeight - element.scrollTop - element.clientHeight);
}

test('500 messages open at the end, scroll to the first, and a reader who went up is left alone', async () => {
  const page = await surf.open({ locale: 'en', path: `/c/${sessionId}` });
  const chat = new Chat(page, 'en');
  const view = page.getByRole('region', { name: chat.say('chat.conversation') });
  await view.getByText(`Answer to: Question ${QUESTIONS} of many`).waitFor();
  await expect.poll(() => toEnd(view)).toBeLessThan(40);
  expect(await page.getByRole('article').count()).toBeLessThan(100);

  await view.hover();
  const first = view.getByText('Question 1 of many', { exact: true });
  await expect
    .poll(
      async () => {
        await page.mouse.wheel(0, -20_000);
        return first.isVisible();
      },
      { timeout: 30_000 },
    )
    .toBe(true);
  await chat.button('chat.toNewest').click();
  await expect.poll(() => toEnd(view)).toBeLessThan(40);

  await chat.ask('Please talk on.');
  await page.getByText('word3 ').first().waitFor();
  await expect.poll(() => toEnd(view)).toBeLessThan(40);
  await view.hover();
  await page.mouse.wheel(0, -1_500);
  const pill = chat.button('chat.toNewest');
  await pill.waitFor();
  const mark = view.getByText(/^Answer to: Question \d+ of many$/).first();
  const [text, place] = [await mark.textContent(), await stillPlace(mark)];
  const before = await arrived();
  await expect.poll(arrived, { timeout: 30_000 }).toBeGreaterThan(before + 40);
  expect(Math.abs((await stillPlace(view.getByText(text ?? '', { exact: true }))) - place)).toBeLessThan(2);
  await pill.click();
  await expect.poll(() => toEnd(view)).toBeLessThan(40);
  await pill.waitFor({ state: 'detached' });
});

/** Words of the running answer that the server has. */
async function arrived(): Promise<number> {
  return (await stored(surf.person.api, sessionId)).at(-1)?.text.match(/word\d+/g)?.length ?? 0;
}

/** Where something stands once it no longer moves, in pixels from the top. */
async function stillPlace(locator: Locator): Promise<number> {
  let last = Number.NaN;
  await expect
    .poll(async () => {
      const before = last;
      last = (await locator.boundingBox())?.y ?? Number.NaN;
      return before === last;
    })
    .toBe(true);
  return last;
}
