import type { Locator, Page } from 'playwright-core';
import { expect } from 'vitest';
import type { ApiClient } from '../../infra/launcher/demo/client.ts';
import { type Locale, pattern, words } from './words.fixture.ts';

/** A chat as a person meets it: by the names that the page gives to its parts. */
export class Chat {
  readonly page: Page;
  readonly locale: Locale;

  constructor(page: Page, locale: Locale = 'zh') {
    this.page = page;
    this.locale = locale;
  }

  say(key: string, values: Readonly<Record<string, string | number>> = {}): string {
    return words(this.locale, key, values);
  }

  get field(): Locator {
    return this.page.getByRole('textbox', { name: this.say('composer.message'), exact: true });
  }

  get stopButton(): Locator {
    return this.button('composer.stop');
  }

  get answers(): Locator {
    return this.page.getByRole('article', { name: pattern(this.locale, 'chat.answerOf') });
  }

  get questions(): Locator {
    return this.page.getByRole('article', { name: this.say('chat.you'), exact: true });
  }

  /** A run block by what its title says, such as `run.python.ok`. */
  run(key: string, within: Page | Locator = this.page): Locator {
    return within.getByRole('group', { name: pattern(this.locale, key) });
  }

  button(key: string, within: Page | Locator = this.page): Locator {
    return within.getByRole('button', { name: pattern(this.locale, key) });
  }

  /** The id of the chat that the address names. */
  get sessionId(): string {
    return new URL(this.page.url()).pathname.split('/')[2] ?? '';
  }

  async ask(text: string): Promise<void> {
    await this.field.fill(text);
    await this.field.press('Enter');
  }

  /** Waits for the end of the answer that came last, which is the one with this number. */
  async answered(count = 1): Promise<Locator> {
    const answer = this.answers.nth(count - 1);
    await answer.waitFor();
    await expect.poll(() => answer.getAttribute('aria-busy'), { timeout: 60_000 }).toBe('false');
    return answer;
  }

  attached(name: string): Locator {
    return this.page
      .getByRole('list', { name: this.say('upload.list'), exact: true })
      .getByRole('listitem')
      .filter({ hasText: name });
  }
}

export interface StoredMessage {
  readonly id: string;
  readonly role: 'user' | 'assistant';
  readonly text: string;
  readonly status: string;
  readonly tools: readonly {
    readonly error?: { readonly explanation?: Readonly<Record<Locale, string>> };
    readonly artifacts: readonly { readonly id: string; readonly name: string; readonly bytes: number }[];
  }[];
}

/** What the server has of a chat. */
export async function stored(api: ApiClient, sessionId: string): Promise<StoredMessage[]> {
  return (await api.call<{ items: StoredMessage[] }>('GET', `/v1/sessions/${sessionId}/messages`)).items;
}

/** Drops real files on the middle of the window, as the browser gets them from a file manager: over it first, then `whileOver`, then let go. */
export async function dropFiles(page: Page, paths: readonly string[], whileOver?: () => Promise<void>): Promise<void> {
  const devtools = await page.context().newCDPSession(page);
  const { width, height } = page.viewportSize() ?? { width: 1280, height: 900 };
  const drag = (type: 'dragEnter' | 'dragOver' | 'drop') =>
    devtools.send('Input.dispatchDragEvent', {
      type,
      x: width / 2,
      y: height / 2,
      data: { items: [], files: [...paths], dragOperationsMask: 1 },
    });
  await drag('dragEnter');
  await drag('dragOver');
  await whileOver?.();
  await drag('drop');
  await devtools.detach();
}
