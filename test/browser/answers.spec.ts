import type { ModelServer } from '@moli/scripted-model';
import type { Locator, WebSocketRoute } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { longAnswer, playModel } from '../support/scene.ts';
import { expectAccessible } from './axe.fixture.ts';
import { shoot, useBrowser } from './browser.fixture.ts';
import { Chat, stored } from './chat.fixture.ts';

const WORDS = 160;
const surf = useBrowser();
let model: ModelServer;
beforeAll(async () => {
  const slow = longAnswer(WORDS, 25)[0]?.reply ?? { steps: [] };
  const half = { steps: [{ text: 'The first half is here. ', piece: 4, delayMs: 10 }, { hang: true as const }] };
  model = await playModel([
    { user: 'count', reply: slow },
    { user: 'stop by', times: 4, reply: half },
    { reply: { steps: [{ text: 'And so it goes on.' }] } },
  ]);
});
afterAll(() => model?.stop());

/** The words that an answer shows, in their order. */
async function wordsIn(answer: Locator): Promise<string[]> {
  return (await answer.textContent())?.match(/word\d+/g) ?? [];
}

async function shows(answer: Locator, word: string): Promise<void> {
  await expect.poll(() => wordsIn(answer), { timeout: 30_000 }).toContain(word);
}

const ALL = Array.from({ length: WORDS }, (_, n) => `word${n}`);

const hasFocus = (element: Locator) => element.evaluate((node) => node === document.activeElement);

/** Nothing is lost, nothing is there twice, and the server has the same. */
async function expectWhole(chat: Chat, answer: Locator): Promise<void> {
  expect(await wordsIn(answer)).toEqual(ALL);
  expect((await stored(surf.person.api, chat.sessionId)).at(-1)?.text.match(/word\d+/g)).toEqual(ALL);
  expect(await chat.questions.count()).toBe(1);
  expect(await chat.answers.count()).toBe(1);
}

test('a page that is loaded again in the middle of an answer goes on with it', async () => {
  const page = await surf.open({ locale: 'en' });
  const chat = new Chat(page, 'en');
  await chat.ask('Please count.');
  await shows(chat.answers.first(), 'word9');
  await page.reload();
  const answer = chat.answers.first();
  await answer.waitFor();
  expect(await answer.getAttribute('aria-busy')).toBe('true');
  await chat.answered();
  await expectWhole(chat, answer);
});

test('a cut line is told, what was missed comes when it is back, and nothing typed is lost', async () => {
  let cut = false;
  const open = new Set<WebSocketRoute>();
  const page = await surf.open({
    locale: 'en',
    prepare: (target) =>
      target.routeWebSocket('**/v1/ws', (socket) => {
        if (cut) return void socket.close({ code: 4000 });
        socket.connectToServer();
        open.add(socket);
      }),
  });
  const chat = new Chat(page, 'en');
  await chat.ask('Please count.');
  const answer = chat.answers.first();
  await shows(answer, 'word9');

  cut = true;
  for (const socket of open) await socket.close({ code: 4000 });
  const line = page.getByRole('status').filter({ has: chat.button('connection.now') });
  await line.waitFor();
  await chat.field.fill('The next question');
  await page.getByText(chat.say('composer.draftKept')).waitFor();
  expect(await chat.button('composer.send').isDisabled()).toBe(true);
  await expectAccessible(page, 'a cut line');
  await shoot(page, 'connection-lost');

  // A try that fails changes nothing; the next one comes by itself.
  await chat.button('connection.now').click();
  const back = page.getByText(chat.say('connection.back')).waitFor();
  cut = false;
  await back;
  await chat.answered();
  await expectWhole(chat, answer);
  expect(await chat.field.inputValue()).toBe('The next question');
});

test('stop by its button: the text stays and is marked, and "continue" goes on with it', async () => {
  const page = await surf.open({ locale: 'en' });
  const chat = new Chat(page, 'en');
  await chat.ask('Let me stop by button.');
  const answer = chat.answers.first();
  await answer.getByText('The first half is here.').waitFor();
  await chat.stopButton.click();
  await answer.getByText(chat.say('chat.stopped')).waitFor();
  await page.getByRole('status').getByText(chat.say('announce.stopped'), { exact: true }).waitFor();
  expect(await hasFocus(chat.field)).toBe(true);
  expect(await answer.textContent()).toContain('The first half is here.');
  await chat.button('composer.send').waitFor();
  await expectAccessible(page, 'a stopped answer');
  await shoot(page, 'stopped');

  await chat.button('chat.continue', answer).click();
  await answer.getByText('And so it goes on.').waitFor();
  await chat.answered();
  expect(await answer.textContent()).toContain('The first half is here.');
  expect(await answer.getByText(chat.say('chat.stopped')).count()).toBe(0);
});

test('stop by its button with a key, and the focus is in the message field again', async () => {
  const page = await surf.open({ locale: 'en' });
  const chat = new Chat(page, 'en');
  await chat.ask('Let me stop by button.');
  await chat.answers.first().getByText('The first half is here.').waitFor();
  await chat.stopButton.focus();
  await page.keyboard.press('Enter');
  await chat.answers.first().getByText(chat.say('chat.stopped')).waitFor();
  expect(await hasFocus(chat.field)).toBe(true);
});

test('stop on a touch screen gives the focus to the answer: the field would put the keyboard over it', async () => {
  const page = await surf.open({ locale: 'en', width: 375, height: 700, touch: true });
  const chat = new Chat(page, 'en');
  await chat.field.fill('Let me stop by button.');
  await chat.button('composer.send').tap();
  const answer = chat.answers.first();
  await answer.getByText('The first half is here.').waitFor();
  await chat.stopButton.tap();
  await answer.getByText(chat.say('chat.stopped')).waitFor();
  expect(await hasFocus(answer)).toBe(true);
});

test('stop by Esc: the text can be edited by hand, and the edited text is there after a reload', async () => {
  const page = await surf.open({ locale: 'en' });
  const chat = new Chat(page, 'en');
  await chat.ask('Let me stop by key.');
  const answer = chat.answers.first();
  await answer.getByText('The first half is here.').waitFor();
  await page.keyboard.press('Escape');
  await answer.getByText(chat.say('chat.stopped')).waitFor();

  await chat.button('action.edit', answer).click();
  await answer.getByRole('textbox', { name: chat.say('chat.editAnswer') }).fill('Written by hand.');
  await chat.button('action.save', answer).click();
  await answer.getByText('Written by hand.').waitFor();
  await answer.getByText(chat.say('chat.edited'), { exact: true }).waitFor();
  await page.reload();
  await answer.getByText('Written by hand.').waitFor();
  expect(await answer.textContent()).not.toContain('The first half');
  expect((await stored(surf.person.api, chat.sessionId)).at(-1)?.text).toBe('Written by hand.');

  await chat.ask('Does it still work?');
  await (await chat.answered(2)).getByText('And so it goes on.').waitFor();
});
