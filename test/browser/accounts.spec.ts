import type { ModelServer } from '@moli/scripted-model';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { playModel } from '../support/scene.ts';
import { Stack } from '../support/stack.ts';
import { useBrowser } from './browser.fixture.ts';
import { Chat } from './chat.fixture.ts';
import { invite } from './person.fixture.ts';

const stack = Stack.shared();
const surf = useBrowser(stack);
let model: ModelServer;
beforeAll(async () => {
  model = await playModel([{ reply: { steps: [{ text: 'Hello.' }] } }]);
});
afterAll(() => model?.stop());

/** A page of somebody who is not signed in yet; the server's refusals show up in the console of the browser. */
async function stranger(path = '/'): Promise<Chat> {
  return new Chat(await surf.open({ locale: 'en', person: null, path, allowed: [/status of 4\d\d/] }), 'en');
}

function fields(chat: Chat) {
  const field = (key: string) => chat.page.getByLabel(chat.say(key), { exact: true });
  return {
    email: field('signIn.email'),
    password: field('signIn.password'),
    name: field('signIn.name'),
    newPassword: field('signIn.newPassword'),
  };
}

async function expectPlainWords(page: Page): Promise<void> {
  const text = (await page.getByRole('alert').textContent()) ?? '';
  expect(text.trim().length).toBeGreaterThan(15);
  expect(text).not.toMatch(/undefined|\[object|[A-Z]+_[A-Z]+|40\d/);
}

test('a wrong password is said, the right one opens the workbench, signing out closes it', async () => {
  const chat = await stranger();
  const { email, password } = fields(chat);
  await email.fill(surf.person.email);
  await password.fill('not the password');
  await chat.button('signIn.submit').click();
  await expectPlainWords(chat.page);
  expect(await password.getAttribute('aria-invalid')).toBe('true');

  await password.fill(surf.person.password);
  await chat.button('signIn.submit').click();
  await chat.ask('Who am I?');
  await (await chat.answered()).getByText('Hello.').waitFor();

  await chat.page.getByRole('button', { name: chat.say('account.menu') }).click();
  await chat.page.getByRole('menuitem', { name: chat.say('account.signOut') }).click();
  await chat.button('signIn.submit').waitFor();
  await chat.page.goBack();
  await chat.button('signIn.submit').waitFor();
  expect(await chat.page.getByText('Who am I?').count()).toBe(0);
});

test('the one-time link of the first start works once, and leaves no token in the address', async () => {
  const path = stack.place.signInLink.slice(stack.place.url.length);
  const first = await stranger(path);
  const offer = first.page.getByRole('dialog', { name: first.say('password.title') });
  await offer.waitFor();
  expect(first.page.url()).toBe(`${stack.place.url}/`);
  await offer.getByLabel(first.say('password.new')).fill('short');
  await first.button('action.save', offer).click();
  expect(await offer.isVisible()).toBe(true);
  await first.button('password.later', offer).click();
  await first.field.waitFor();

  const second = await stranger(path);
  await expectPlainWords(second.page);
  await second.button('signIn.submit').waitFor();
});

test('an invitation makes a member of the team, once', async () => {
  const email = `new-${surf.person.email}`;
  const token = await invite(stack, email, surf.person.tenantId, 'member');
  const chat = await stranger(`/#invite=${token}`);
  const { name, newPassword, email: address } = fields(chat);
  await expect.poll(() => address.inputValue()).toBe(email);
  expect(await address.isEditable()).toBe(false);
  await name.fill('李雷');
  await newPassword.fill('a password of mine');
  await chat.button('signIn.accept').click();
  await chat.field.waitFor();
  await chat.page.goto('/settings/account');
  await chat.page.getByText(email).first().waitFor();
  await chat.page.getByText(chat.say('account.role.member')).waitFor();

  const again = await stranger(`/#invite=${token}`);
  await expectPlainWords(again.page);
});
