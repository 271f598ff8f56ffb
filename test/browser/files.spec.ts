import { randomBytes } from 'node:crypto';
import { closeSync, ftruncateSync, openSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { ModelServer } from '@moli/scripted-model';
import { testFolder } from '@moli/testing';
import type { Page, Request } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { playModel } from '../support/scene.ts';
import { expectAccessible } from './axe.fixture.ts';
import { shoot, useBrowser } from './browser.fixture.ts';
import { Chat, dropFiles } from './chat.fixture.ts';

const MIB = 1024 * 1024;
const surf = useBrowser();
const folder = testFolder('files');
let model: ModelServer;
beforeAll(async () => {
  model = await playModel([{ reply: { steps: [{ text: 'Seen.' }] } }]);
});
afterAll(() => model?.stop());

function file(name: string, content: string | Buffer): string {
  const path = join(folder, name);
  writeFileSync(path, content);
  return path;
}

/** A file of this size whose bytes take no room on the disk. */
function sparse(name: string, bytes: number): string {
  const path = join(folder, name);
  const handle = openSync(path, 'w');
  writeSync(handle, 'a,b\n1,2\n');
  ftruncateSync(handle, bytes);
  closeSync(handle);
  return path;
}

function uploads(page: Page): Request[] {
  const seen: Request[] = [];
  page.on('request', (request) => {
    if (new URL(request.url()).pathname.startsWith('/api/upload')) seen.push(request);
  });
  return seen;
}

test.each(['zh', 'en'] as const)(
  'refused files say why and what is accepted, and nothing is sent (%s)',
  async (locale) => {
    const page = await surf.open({ locale, theme: locale === 'zh' ? 'light' : 'dark' });
    const sent = uploads(page);
    const chat = new Chat(page, locale);
    await chat.field.waitFor();
    await dropFiles(page, [sparse('big.csv', 50 * MIB + 1), file('setup.exe', 'MZ'), file('empty.csv', '')]);

    for (const name of ['big.csv', 'setup.exe', 'empty.csv']) {
      await chat
        .attached(name)
        .getByRole('alert')
        .filter({ hasText: chat.say('upload.notAdded') })
        .waitFor();
    }
    await expectAccessible(page, `refused files in ${locale}`);
    await shoot(page, `refused-${locale}`);
    expect(await chat.attached('big.csv').textContent()).toMatch(/52,428,801 B.*52,428,800 B/);
    const kinds = await chat.attached('setup.exe').textContent();
    for (const word of ['exe', 'CSV', 'XLSX']) expect(kinds?.toLowerCase()).toContain(word.toLowerCase());
    expect(await chat.attached('empty.csv').textContent()).toContain(chat.say('upload.refusedEmpty'));
    expect(await chat.button('composer.send').isDisabled()).toBe(true);

    await chat
      .attached('big.csv')
      .getByRole('button', { name: chat.say('upload.dismiss', { name: 'big.csv' }) })
      .click();
    await chat.attached('big.csv').waitFor({ state: 'detached' });
    expect(sent.map((request) => request.url())).toEqual([]);
    expect(chat.sessionId).toBe('');
  },
);

test('two files at once; the one that is taken out again is not part of the question', async () => {
  const page = await surf.open({ locale: 'en' });
  const chat = new Chat(page, 'en');
  await chat.field.waitFor();
  const title = chat.say('drop.title', { n: 2 });
  await dropFiles(page, [file('left.csv', 'a,b\n1,2\n'), file('right.csv', '列\n1\n2\n3\n')], async () => {
    await page.getByText(title).waitFor();
    await shoot(page, 'drop');
  });
  await chat
    .attached('left.csv')
    .getByText(chat.say('file.columns', { n: 2 }))
    .waitFor();
  await chat
    .attached('right.csv')
    .getByText(chat.say('file.rows', { n: 3 }))
    .waitFor();
  await page.getByRole('button', { name: chat.say('upload.remove', { name: 'left.csv' }) }).click();
  await chat.attached('left.csv').waitFor({ state: 'detached' });
  await chat.ask('What is in it?');
  await chat.answered();
  const question = await chat.questions.first().textContent();
  expect([question?.includes('right.csv'), question?.includes('left.csv')]).toEqual([true, false]);
});

test('an upload that is cut in the middle goes on from where it was', async () => {
  const lines = Array.from({ length: 2_000 }, (_, n) => `${n},${randomBytes(32).toString('hex')}`);
  const content = Buffer.from(`n,hex\n${lines.join('\n')}\n`);
  const half = Math.floor(content.length / 2);
  const line = { cut: true, arrived: 0 };
  const page = await surf.open({
    locale: 'en',
    allowed: [/ERR_CONNECTION_RESET/],
    prepare: (target) =>
      target.route('**/api/upload/**', async (route) => {
        if (!line.cut) return route.continue();
        const request = route.request();
        if (request.method() === 'PATCH' && line.arrived === 0) {
          const { 'content-length': _, ...headers } = await request.allHeaders();
          const answer = await fetch(request.url(), { method: 'PATCH', headers, body: content.subarray(0, half) });
          line.arrived = Number(answer.headers.get('upload-offset'));
        }
        return route.abort('connectionreset');
      }),
  });
  const sent = uploads(page);
  const chat = new Chat(page, 'en');
  await chat.field.waitFor();
  await dropFiles(page, [file('long.csv', content)]);
  const chip = chat.attached('long.csv');
  await chip.getByText(/^Connection lost at \d+%/).waitFor();
  expect(line.arrived).toBe(half);
  line.cut = false;
  await chip.getByText(chat.say('file.rows', { n: '2,000' })).waitFor();

  const patches = sent.filter((request) => request.method() === 'PATCH');
  expect(patches.map((request) => Number(request.headers()['upload-offset']))).toEqual([0, half]);
  const { files } = await surf.person.api.call<{ files: { id: string; bytes: number }[] }>(
    'GET',
    `/v1/sessions/${chat.sessionId}/files`,
  );
  expect(files.map((stored) => stored.bytes)).toEqual([content.length]);
  expect((await surf.person.api.bytes(`/v1/files/${files[0]?.id}/content`)).equals(content)).toBe(true);
});

test('a line that goes down while the server looks into a file: the file is there when it is back', async () => {
  let down = true;
  const page = await surf.open({
    locale: 'en',
    allowed: [/ERR_CONNECTION_RESET/],
    prepare: (target) =>
      target.route('**/v1/files/*', (route) => (down ? route.abort('connectionreset') : route.continue())),
  });
  const chat = new Chat(page, 'en');
  await chat.field.waitFor();
  const refused = page.waitForEvent('requestfailed', (request) => request.url().includes('/v1/files/'));
  await dropFiles(page, [file('short.csv', 'a,b\n1,2\n')]);
  await refused;
  down = false;
  await chat
    .attached('short.csv')
    .getByText(chat.say('file.columns', { n: 2 }))
    .waitFor();
});
