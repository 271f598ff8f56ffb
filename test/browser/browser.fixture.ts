import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { testFolder } from '@moli/testing';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { Stack } from '../support/stack.ts';
import { newPerson, type Person } from './person.fixture.ts';
import type { Locale } from './words.fixture.ts';

const CHROMIUM = process.env.MOLI_TEST_CHROMIUM ?? '/usr/bin/chromium';
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

/** Folder of the screenshots that a person looks at. */
const SHOTS = join(import.meta.dirname, '../../test-results');

export interface PageOptions {
  readonly locale?: Locale;
  readonly theme?: 'light' | 'dark';
  readonly width?: number;
  readonly height?: number;
  /** A touch screen instead of a pointer. */
  readonly touch?: boolean;
  readonly path?: string;
  /** Whose cookies the page has; nobody's with null. By default those of the file's own person. */
  readonly person?: Person | null;
  /** Console errors that belong to the test, such as those of a line that it cuts. */
  readonly allowed?: readonly RegExp[];
  /** Called before the page is loaded, to put routes in. */
  readonly prepare?: (page: Page) => Promise<unknown>;
}

export interface Surf {
  readonly person: Person;
  open(options?: PageOptions): Promise<Page>;
}

/**
 * One browser and one person in a new tenant for a test file, pages for its tests. A page fails its test by anything that a person would
 * not see but that is wrong: a violated policy, an uncaught error, an error in the console, a request to another origin.
 */
export function useBrowser(stack = Stack.shared()): Surf {
  let browser: Browser;
  let person: Person;
  let faults: string[] = [];

  beforeAll(async () => {
    person = await newPerson(stack);
    browser = await chromium.launch({
      executablePath: CHROMIUM,
      args: FLAGS,
      env: { ...process.env, HOME: testFolder('browser-home') },
    });
  });
  afterEach(async () => {
    for (const context of browser?.contexts() ?? []) await context.close();
    const found = faults;
    faults = [];
    expect(found).toEqual([]);
  });
  afterAll(() => browser?.close());

  async function open(options: PageOptions = {}): Promise<Page> {
    const {
      locale = 'zh',
      theme = 'light',
      width = 1280,
      height = 900,
      path = '/',
      touch = false,
      allowed = [],
    } = options;
    const owner = options.person === undefined ? person : options.person;
    const origin = stack.place.url;
    const settings: BrowserContextOptions = {
      baseURL: origin,
      viewport: { width, height },
      locale: locale === 'zh' ? 'zh-CN' : 'en-US',
      colorScheme: theme,
      reducedMotion: 'reduce',
      acceptDownloads: true,
      hasTouch: touch,
      isMobile: touch,
      ...(owner ? { storageState: owner.state } : {}),
    };
    const context = await browser.newContext(settings);
    await context.grantPermissions(['clipboard-read', 'clipboard-write'], { origin });
    await context.addInitScript(() => {
      addEventListener('securitypolicyviolation', (event) => {
        console.error(`policy violated: ${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`);
      });
    });
    const page = await context.newPage();
    page.setDefaultTimeout(30_000);
    watch(page, origin, allowed);
    await options.prepare?.(page);
    await page.goto(path);
    return page;
  }

  function watch(page: Page, origin: string, allowed: readonly RegExp[]): void {
    const note = (fault: string) => {
      if (!allowed.some((pattern) => pattern.test(fault))) faults.push(fault);
    };
    page.on('pageerror', (error) => note(`uncaught: ${error.stack ?? error.message}`));
    page.on('console', (message) => {
      if (message.type() === 'error') note(`console: ${message.text()} ${message.location().url}`);
    });
    page.on('request', (request) => {
      const url = new URL(request.url());
      if (!['data:', 'blob:'].includes(url.protocol) && url.origin !== origin) note(`request: ${request.url()}`);
    });
    page.on('websocket', (socket) => {
      if (new URL(socket.url()).host !== new URL(origin).host) note(`request: ${socket.url()}`);
    });
  }

  return {
    get person() {
      return person;
    },
    open,
  };
}

/** A picture for people, kept until the next run. */
export async function shoot(page: Page, name: string): Promise<void> {
  mkdirSync(SHOTS, { recursive: true });
  await page.screenshot({ path: join(SHOTS, `${name}.png`) });
}
