import type { ModelServer } from '@moli/scripted-model';
import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { newSession, playModel } from '../support/scene.ts';
import { useBrowser } from './browser.fixture.ts';
import { Chat } from './chat.fixture.ts';

const surf = useBrowser();
let model: ModelServer;
beforeAll(async () => {
  model = await playModel([{ reply: { steps: [{ text: 'Heard.' }] } }]);
});
afterAll(() => model?.stop());

async function chatNamed(title: string): Promise<string> {
  const id = await newSession(surf.person.api);
  await surf.person.api.call('PATCH', `/v1/sessions/${id}`, { title });
  return id;
}

async function statusOf(sessionId: string): Promise<number> {
  return (await surf.person.api.request(`/v1/sessions/${sessionId}`)).status;
}

class Rail {
  readonly #chat: Chat;

  constructor(chat: Chat) {
    this.#chat = chat;
  }

  get #nav(): Locator {
    return this.#chat.page.getByRole('navigation', { name: this.#chat.say('frame.navigation') });
  }

  row(title: string): Locator {
    return this.#nav.getByRole('link', { name: title, exact: true });
  }

  get search(): Locator {
    return this.#nav.getByRole('searchbox', { name: this.#chat.say('session.search') });
  }

  async choose(title: string, key: string): Promise<void> {
    await this.row(title).hover();
    await this.#nav.getByRole('button', { name: this.#chat.say('session.menu', { title }) }).click();
    await this.#chat.page.getByRole('menuitem', { name: this.#chat.say(key), exact: true }).click();
  }
}

test('a new chat begins with its first message, and is renamed for good', async () => {
  const chat = new Chat(await surf.open({ locale: 'en' }), 'en');
  const rail = new Rail(chat);
  await chat.ask('What is a moving average?');
  await chat.answered();
  await rail.row('What is a moving average?').waitFor();
  await rail.choose('What is a moving average?', 'session.rename');
  const field = chat.page.getByRole('textbox', { name: chat.say('session.rename') });
  await field.fill('Averages');
  await field.press('Enter');
  await rail.row('Averages').waitFor();
  await chat.page.getByRole('heading', { name: 'Averages', level: 1 }).waitFor();
  await chat.page.reload();
  await rail.row('Averages').waitFor();

  await chat.page.keyboard.press('Alt+n');
  await chat.page.getByText(chat.say('start.hint')).waitFor();
  expect(chat.sessionId).toBe('');
});

test.each(['ses_0', `ses_${'0'.repeat(32)}`])(
  'an address that is no chat (%s) says so, and a new chat is one press away',
  async (id) => {
    const page = await surf.open({ locale: 'en', path: `/c/${id}`, allowed: [/40[04]/] });
    const chat = new Chat(page, 'en');
    await page.getByRole('heading', { name: chat.say('session.missing') }).waitFor();
    expect(await page.getByRole('status').filter({ hasText: /./ }).count()).toBe(0);
    await page
      .getByRole('main')
      .getByRole('button', { name: chat.say('session.new'), exact: true })
      .click();
    await page.getByText(chat.say('start.hint')).waitFor();
  },
);

test('search finds by words of the title and says when there is nothing', async () => {
  await chatNamed('Invoices of April');
  await chatNamed('库存盘点');
  const chat = new Chat(await surf.open({ locale: 'en' }), 'en');
  const rail = new Rail(chat);
  await rail.row('库存盘点').waitFor();
  await rail.search.fill('April');
  await rail.row('库存盘点').waitFor({ state: 'detached' });
  expect(await rail.row('Invoices of April').isVisible()).toBe(true);
  await rail.search.fill('库存');
  await rail.row('库存盘点').waitFor();
  await rail.search.fill('no such words');
  await chat.page.getByText(chat.say('session.nothingFound')).waitFor();
});

test('a deleted chat comes back by "undo", and is gone without it', async () => {
  const kept = await chatNamed('Keep me');
  const gone = await chatNamed('Delete me');
  const left = await chatNamed('Delete me when I leave');
  const chat = new Chat(await surf.open({ locale: 'en' }), 'en');
  const rail = new Rail(chat);

  await rail.choose('Keep me', 'action.delete');
  await rail.row('Keep me').waitFor({ state: 'detached' });
  await chat.button('action.undo').click();
  await rail.row('Keep me').waitFor();

  await rail.choose('Delete me', 'action.delete');
  expect(await statusOf(gone)).toBe(200);
  await expect.poll(() => statusOf(gone), { timeout: 20_000 }).toBe(404);

  await rail.choose('Delete me when I leave', 'action.delete');
  await rail.row('Delete me when I leave').waitFor({ state: 'detached' });
  await chat.page.reload();
  await expect.poll(() => statusOf(left)).toBe(404);
  await rail.row('Keep me').waitFor();
  expect(await statusOf(kept)).toBe(200);
});

test('each chat keeps its own draft, also over a reload', async () => {
  await chatNamed('First draft');
  await chatNamed('Second draft');
  const chat = new Chat(await surf.open({ locale: 'en' }), 'en');
  const rail = new Rail(chat);
  const drafts = { 'First draft': 'words of the first', 'Second draft': 'words of the second' };
  for (const [title, words] of Object.entries(drafts)) {
    await rail.row(title).click();
    await chat.page.getByRole('heading', { name: title, level: 1 }).waitFor();
    await chat.field.fill(words);
  }
  await chat.page.reload();
  for (const [title, words] of Object.entries(drafts)) {
    await rail.row(title).click();
    await expect.poll(() => chat.field.inputValue()).toBe(words);
  }
});

test('the palette goes to a chat by keys alone', async () => {
  const id = await chatNamed('Quarterly figures');
  const chat = new Chat(await surf.open({ locale: 'en' }), 'en');
  await new Rail(chat).row('Quarterly figures').waitFor();
  await chat.page.keyboard.press('Control+k');
  const palette = chat.page.getByRole('dialog', { name: chat.say('palette.open') });
  await palette.waitFor();
  await chat.page.keyboard.type('Quarterly');
  await palette.getByRole('option', { name: 'Quarterly figures' }).waitFor();
  await expect.poll(() => palette.getByRole('option').count()).toBe(1);
  await chat.page.keyboard.press('Enter');
  await chat.page.getByRole('heading', { name: 'Quarterly figures', level: 1 }).waitFor();
  expect(chat.sessionId).toBe(id);
});

test('keys: the list of all, the trace, the last message again', async () => {
  const chat = new Chat(await surf.open({ locale: 'en' }), 'en');
  await chat.ask('Do keys work?');
  await chat.answered();

  await chat.page.getByRole('region', { name: chat.say('chat.conversation') }).focus();
  await chat.page.keyboard.press('?');
  const list = chat.page.getByRole('dialog', { name: chat.say('shortcut.title') });
  await list.getByText(chat.say('shortcut.runAgain'), { exact: true }).waitFor();
  await chat.page.keyboard.press('Escape');
  await list.waitFor({ state: 'detached' });

  const panel = chat.page.getByRole('complementary', { name: chat.say('inspector.title') });
  await chat.page.keyboard.press('Alt+t');
  await panel.waitFor();
  await chat.page.keyboard.press('Alt+t');
  await panel.waitFor({ state: 'detached' });

  await chat.field.focus();
  await chat.field.press('?');
  expect(await chat.field.inputValue()).toBe('?');
  await chat.field.fill('');
  await chat.field.press('ArrowUp');
  const again = chat.page.getByRole('textbox', { name: chat.say('chat.editMessage') });
  await expect.poll(() => again.inputValue()).toBe('Do keys work?');
});

test('Ctrl+Enter sends, and Enter too unless the person chose otherwise', async () => {
  const chat = new Chat(await surf.open({ locale: 'en', path: '/settings/appearance' }), 'en');
  await chat.page.getByRole('radio', { name: chat.say('settings.sendKeys.mod-enter') }).check();
  await chat.page.goto('/');
  await chat.field.fill('one');
  await chat.field.press('Enter');
  await chat.field.pressSequentially('two');
  expect(await chat.field.inputValue()).toBe('one\ntwo');
  await chat.field.press('Control+Enter');
  await chat.answered();
  expect(await chat.questions.first().textContent()).toContain('one\ntwo');
});

test('Enter that belongs to an input method does not send', async () => {
  const chat = new Chat(await surf.open());
  await chat.field.focus();
  const devtools = await chat.page.context().newCDPSession(chat.page);
  await devtools.send('Input.imeSetComposition', { text: 'xiaoshou', selectionStart: 8, selectionEnd: 8 });
  const composing = await chat.page.evaluateHandle(() => {
    const seen: boolean[] = [];
    addEventListener('keydown', (event) => seen.push(event.isComposing), true);
    return seen;
  });
  // The key alone: what it would type belongs to the input method.
  await devtools.send('Input.dispatchKeyEvent', {
    type: 'rawKeyDown',
    key: 'Enter',
    code: 'Enter',
    windowsVirtualKeyCode: 13,
  });
  expect(await composing.jsonValue()).toEqual([true]);
  expect([chat.sessionId, await chat.questions.count()]).toEqual(['', 0]);
  await devtools.send('Input.insertText', { text: '销售' });
  expect(await chat.field.inputValue()).toBe('销售');
  await chat.page.keyboard.press('Enter');
  await chat.answered();
  expect(await chat.questions.first().textContent()).toContain('销售');
});
