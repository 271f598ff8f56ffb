import type { ModelServer } from '@moli/scripted-model';
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { collect, mainScene, newSession, playModel, salesCsv, send } from '../support/scene.ts';
import { expectAccessible, expectNoSidewaysScroll } from './axe.fixture.ts';
import { shoot, useBrowser } from './browser.fixture.ts';
import { Chat } from './chat.fixture.ts';
import type { Locale } from './words.fixture.ts';

const WIDTHS = [375, 1280, 1920];
const surf = useBrowser();
let model: ModelServer;
let answered: string;
beforeAll(async () => {
  model = await playModel(mainScene);
  const { api } = surf.person;
  answered = await newSession(api);
  const fileId = await api.upload(Buffer.from(salesCsv()), 'sales_data.csv', answered);
  await send(api, answered, '分析最近三个月的销售趋势，画一张折线图', { fileIds: [fileId], locale: 'zh' });
  await collect(api, answered);
});
afterAll(() => model?.stop());

/** The places that are looked at, each by how it is reached. */
const PLACES: Record<string, (page: Page, chat: Chat) => Promise<void>> = {
  home: async (page, chat) => {
    await page.goto('/');
    await page.getByText(chat.say('start.hint')).waitFor();
  },
  answer: async (page, chat) => {
    await page.goto(`/c/${answered}`);
    await chat.answered();
    const chart = page.getByRole('img', { name: 'sales_trend.png' });
    await expect.poll(() => chart.evaluate((image) => (image as HTMLImageElement).naturalWidth)).toBeGreaterThan(0);
  },
  inspector: async (page, chat) => {
    await page.goto(`/c/${answered}`);
    await chat.answered();
    await page.keyboard.press('Alt+t');
    await page
      .getByRole('complementary', { name: chat.say('inspector.title') })
      .getByText('run_python')
      .waitFor();
  },
  settings: async (page) => {
    await page.evaluate(() => localStorage.removeItem('moli.inspector'));
    await page.goto('/settings/models');
    await page.getByRole('rowheader').filter({ hasText: 'scripted-test' }).waitFor();
  },
  shortcuts: async (page, chat) => {
    await page.goto('/settings/shortcuts');
    await chat.button('shortcut.reset').waitFor();
  },
  palette: async (page, chat) => {
    await page.goto('/');
    await chat.field.waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('option').first().waitFor();
  },
};

const LOOKS = (['zh', 'en'] as const).flatMap((locale) =>
  (['light', 'dark'] as const).map((theme) => [locale, theme] as const),
);

test.each(LOOKS)('in %s and %s: accessible, and nowhere wider than the window', async (locale, theme) => {
  const page = await surf.open({ locale, theme });
  const chat = new Chat(page, locale);
  for (const [place, go] of Object.entries(PLACES)) {
    await page.setViewportSize({ width: 1280, height: 900 });
    await go(page, chat);
    await expectAccessible(page, `${place} at 1280`);
    await atAllWidths(page, place, `${locale}-${theme}`);
  }
});

test.each(LOOKS)('the sign-in page in %s and %s', async (locale, theme) => {
  const page = await surf.open({ locale, theme, person: null, allowed: [/401/] });
  await page.getByRole('heading', { name: new Chat(page, locale).say('signIn.title') }).waitFor();
  await expectAccessible(page, 'sign-in');
  await atAllWidths(page, 'sign-in', `${locale}-${theme}`);
});

test.each(['zh', 'en'] as const)('on a phone in %s: accessible with the navigation open and shut', async (locale) => {
  const page = await surf.open({ locale, width: 375, height: 700, path: `/c/${answered}` });
  const chat = new Chat(page, locale);
  await chat.answered();
  await expectAccessible(page, 'answer at 375');
  await chat.button('frame.openNavigation').click();
  await chat.button('frame.closeNavigation').waitFor();
  await expectAccessible(page, 'navigation at 375');
  await expectNoSidewaysScroll(page, 'navigation at 375');
});

const ON_A_PHONE = {
  inspector: { opener: 'inspector.toggle', title: 'inspector.title' },
  navigation: { opener: 'frame.openNavigation', title: 'frame.navigation' },
};

test.each(['inspector', 'navigation'] as const)(
  'on a phone the %s is a dialog: it keeps the focus, and gives it back',
  async (name) => {
    const page = await surf.open({
      locale: 'en',
      theme: 'dark',
      width: 375,
      height: 700,
      touch: true,
      path: `/c/${answered}`,
    });
    const chat = new Chat(page, 'en');
    await chat.answered();
    const { opener, title } = ON_A_PHONE[name];
    const sheet = page.getByRole('dialog', { name: chat.say(title), exact: true });
    const button = chat.button(opener);
    const focusIn = (place: Locator) => place.evaluate((element) => element.contains(document.activeElement));
    await button.tap();
    await sheet.waitFor();
    await expect.poll(() => focusIn(sheet)).toBe(true);
    await expectAccessible(page, `${name} on a phone`);
    await expectNoSidewaysScroll(page, `${name} on a phone`);
    await shoot(page, `${name}-on-a-phone`);
    const stops = await sheet.locator('button, a, input, [tabindex="0"]').count();
    for (let n = 0; n <= stops; n += 1) {
      await page.keyboard.press('Tab');
      expect(await focusIn(sheet), `stop ${n}`).toBe(true);
    }
    await page.keyboard.press('Escape');
    await sheet.waitFor({ state: 'detached' });
    await expect.poll(() => focusIn(button)).toBe(true);

    await button.tap();
    await sheet.waitFor();
    await page.touchscreen.tap(365, 10);
    await sheet.waitFor({ state: 'detached' });
    await expect.poll(() => focusIn(button)).toBe(true);
  },
);

test('on a phone every shortcut can be reached by scrolling down', async () => {
  const page = await surf.open({ locale: 'en', width: 375, height: 600 });
  const chat = new Chat(page, 'en');
  await page.getByText(chat.say('start.hint')).waitFor();
  await chat.button('chat.more').click();
  await page.getByRole('menuitem', { name: chat.say('shortcut.title'), exact: true }).click();
  const dialog = page.getByRole('dialog', { name: chat.say('shortcut.title'), exact: true });
  await dialog.waitFor();
  const sideways = await dialog.evaluate((element) =>
    [...element.querySelectorAll('*')]
      .filter(({ scrollWidth, clientWidth }) => clientWidth > 1 && scrollWidth > clientWidth)
      .map(({ className }) => className),
  );
  expect(sideways).toEqual([]);
  const last = dialog.getByText(chat.say('shortcut.settings'), { exact: true });
  await last.scrollIntoViewIfNeeded();
  await shoot(page, 'shortcuts-on-a-phone');
});

test.each(['zh', 'en'] as const)(
  'in the settings of a phone in %s the open section and the way back are in sight',
  async (locale) => {
    const page = await surf.open({ locale, width: 375, height: 700, path: '/settings/models' });
    const chat = new Chat(page, locale);
    await page.getByRole('rowheader').filter({ hasText: 'scripted-test' }).waitFor();
    for (const place of [
      chat.button('settings.back'),
      page.getByRole('link', { name: chat.say('settings.models'), exact: true }),
      chat.button('model.testShort'),
    ]) {
      const box = await place.boundingBox();
      expect(box?.x).toBeGreaterThanOrEqual(0);
      expect((box?.x ?? 0) + (box?.width ?? 0)).toBeLessThan(376);
    }
    await expectAccessible(page, 'settings on a phone');
  },
);

test('a question that is edited stays in sight', async () => {
  const page = await surf.open({ height: 500, path: `/c/${answered}` });
  const chat = new Chat(page);
  await chat.answered();
  const question = chat.questions.first();
  await question.hover();
  await chat.button('chat.editMessage', question).click();
  const field = page.getByRole('textbox', { name: chat.say('chat.editMessage'), exact: true });
  await expect.poll(async () => (await field.boundingBox())?.y ?? 0).toBeGreaterThan(52);
  expect(await field.evaluate((element) => element === document.activeElement)).toBe(true);
});

test('a question has no more room under it than messages have between them', async () => {
  const page = await surf.open({ path: `/c/${answered}` });
  const chat = new Chat(page);
  const answer = await chat.answered();
  const question = chat.questions.first();
  const bubble = await question.getByText('折线图').boundingBox();
  const below = (await answer.boundingBox())?.y ?? 0;
  // 32 px between messages, and the padding of the bubble.
  expect(below - ((bubble?.y ?? 0) + (bubble?.height ?? 0))).toBeLessThan(48);
  await question.hover();
  await chat.button('action.copy', question).click();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toContain('折线图');
});

test('themes and languages are switched in the settings, at once and for good', async () => {
  const page = await surf.open({ locale: 'zh', path: '/settings/appearance' });
  const root = () => page.evaluate(() => [document.documentElement.dataset.theme, document.documentElement.lang]);
  const ink = () => page.evaluate(() => getComputedStyle(document.body).color);
  const choose = (locale: Locale, key: string) =>
    page.getByRole('radio', { name: new Chat(page, locale).say(key), exact: true }).check();

  await choose('zh', 'settings.themes.dark');
  expect(await root()).toEqual(['dark', 'zh-CN']);
  const dark = await ink();
  await page.reload();
  expect(await root()).toEqual(['dark', 'zh-CN']);
  await choose('zh', 'settings.themes.light');
  expect((await root())[0]).toBe('light');
  expect(await ink()).not.toBe(dark);

  await choose('zh', 'settings.themes.system');
  await page.emulateMedia({ colorScheme: 'dark' });
  await expect.poll(root).toEqual(['dark', 'zh-CN']);
  await page.emulateMedia({ colorScheme: 'light' });
  await expect.poll(root).toEqual(['light', 'zh-CN']);

  await page.getByRole('radio', { name: 'English', exact: true }).check();
  await page.getByRole('heading', { name: new Chat(page, 'en').say('settings.appearance'), level: 1 }).waitFor();
  expect((await root())[1]).toBe('en');
  await page.reload();
  await page.getByRole('heading', { name: new Chat(page, 'en').say('settings.appearance'), level: 1 }).waitFor();
  expect((await root())[1]).toBe('en');
});

async function atAllWidths(page: Page, place: string, look: string): Promise<void> {
  for (const width of WIDTHS) {
    await page.setViewportSize({ width, height: 900 });
    await expectNoSidewaysScroll(page, `${place} at ${width}`);
    await shoot(page, `${place}-${look}-${width}`);
  }
}
