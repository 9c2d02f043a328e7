import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { chromium } from 'playwright-core';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';

const places = [
  process.env['CHROMIUM_PATH'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
].filter((place) => place !== '');

export interface OpenBrowser extends AsyncDisposable {
  /** A page in a context of its own: no cookies, nothing stored. */
  newPage(options?: BrowserContextOptions): Promise<WatchedPage>;
}

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What should not be there: refused inline code, uncaught errors, dialogs, requests to elsewhere. */
  readonly complaints: string[];
}

/** The distribution's own Chromium, without anything that reaches out by itself. */
export async function openChromium(): Promise<OpenBrowser> {
  const executablePath = places.find((place) => existsSync(place));
  if (executablePath === undefined) throw new Error(`no Chromium at ${places.join(' or ')}`);
  const profile = await mkdtemp(join(tmpdir(), 'gateway-chromium-'));
  const browser = await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
    env: { ...process.env, HOME: profile, XDG_CONFIG_HOME: profile, XDG_CACHE_HOME: profile },
  });
  return {
    async newPage(options) {
      const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
      const page = await context.newPage();
      return { page, context, complaints: watch(page) };
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

function watch(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    const text = message.text();
    // Chromium itself reports every answer from 400 on; those are part of the tests.
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) {
      complaints.push(`console: ${text}`);
    }
  });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    const isOwn = !page.url().startsWith('http') || origin === new URL(page.url()).origin;
    if (!isOwn && !['blob:', 'data:'].includes(protocol)) {
      complaints.push(`request to ${request.url()}`);
    }
  });
  return complaints;
}
