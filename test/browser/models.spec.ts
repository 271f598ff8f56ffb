import { type ModelServer, startModelServer } from '@moli/scripted-model';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectAccessible } from './axe.fixture.ts';
import { shoot, useBrowser } from './browser.fixture.ts';
import { Chat } from './chat.fixture.ts';

const KEY = 'sk-kept-to-ourselves-7b1f';
const surf = useBrowser();
let model: ModelServer;
let page: ModelServer;
beforeAll(async () => {
  const { api } = surf.person;
  model = await startModelServer({
    script: [{ reply: { steps: [{ text: 'Connected.' }] } }],
    apiKey: KEY,
    models: ['jasmine-large'],
  });
  page = await startModelServer({
    script: [{ reply: { status: 200, headers: { 'content-type': 'text/html' }, body: '<!doctype html><p>Welcome' } }],
  });
  const { items } = await api.call<{ items: { id: string }[] }>('GET', '/v1/model-configs');
  for (const { id } of items) await api.call('DELETE', `/v1/model-configs/${id}`);
});
afterAll(() => Promise.all([model?.stop(), page?.stop()]));

test('the first visit: a card asks for a model, its test tells the truth, and the key is never shown again', async () => {
  const bodies: Promise<string>[] = [];
  const chat = new Chat(
    await surf.open({
      locale: 'en',
      prepare: async (target) => {
        target.on('response', (response) => {
          if (/\/(v1|api)\//.test(response.url())) bodies.push(response.text().catch(() => ''));
        });
      },
    }),
    'en',
  );
  await chat.page.getByRole('heading', { name: chat.say('model.setupTitle') }).waitFor();
  expect(await chat.field.isDisabled()).toBe(true);
  const field = (key: string) => chat.page.getByLabel(chat.say(key), { exact: true });
  const tried = async (baseUrl: string, key: string, name: string) => {
    await field('model.baseUrl').fill(baseUrl);
    await field('model.key').fill(key);
    await field('model.name').fill(name);
    await chat.button('model.test').click();
    const verdict = chat.page.locator('form').getByRole('alert').or(chat.page.locator('form').getByRole('status'));
    await verdict.waitFor();
    return (await verdict.textContent()) ?? '';
  };

  const wrongKey = await tried(model.url, 'sk-wrong', 'jasmine-large');
  expect(wrongKey).toMatch(/key/i);
  expect(await field('model.key').getAttribute('aria-invalid')).toBe('true');
  const wrongUrl = await tried(page.url, KEY, 'jasmine-large');
  expect(wrongUrl).toMatch(/web page|HTML/i);
  const unknown = await tried(model.url, KEY, 'jasmine-small');
  expect(unknown).toMatch(/model/i);
  expect(await field('model.name').getAttribute('aria-invalid')).toBe('true');
  const nobody = await tried('http://127.0.0.1:9/v1', KEY, 'jasmine-large');
  expect(new Set([wrongKey, wrongUrl, unknown, nobody]).size).toBe(4);
  await expectAccessible(chat.page, 'a failed test');
  await shoot(chat.page, 'model-card');
  const right = await tried(model.url, KEY, 'jasmine-large');
  expect(right).toContain(chat.say('model.works'));
  expect(right).toContain('Connected.');

  await chat.button('model.saveAndStart').click();
  await chat.page.getByText(chat.say('start.hint')).waitFor();
  await chat.ask('Are you there?');
  await (await chat.answered()).getByText('Connected.').waitFor();

  await chat.page.goto('/settings/models');
  const row = chat.page.getByRole('row').filter({ hasText: 'jasmine-large' });
  await row.getByText(chat.say('model.keySet')).waitFor();
  await chat.button('model.testShort', row).click();
  await row.getByText(/^ready, /).waitFor();
  await chat.page.getByRole('button', { name: chat.say('model.more', { name: 'jasmine-large' }) }).click();
  await chat.page.getByRole('menuitem', { name: chat.say('action.edit') }).click();
  const dialog = chat.page.getByRole('dialog', { name: chat.say('model.edit') });
  expect(await dialog.getByLabel(chat.say('model.key'), { exact: true }).inputValue()).toBe('');

  const answers = (await Promise.all(bodies)).join('\n');
  expect(answers).toContain('jasmine-large');
  expect(answers).not.toContain(KEY);
  const kept = await chat.page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  expect((await chat.page.content()) + kept).not.toContain(KEY);
});
