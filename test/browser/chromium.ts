import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { chromium } from 'playwright-core';
import type { BrowserContext, BrowserContextOptions, Page } from 'playwright-core';

const executablePaths = [
  process.env['CHROMIUM_PATH'] ?? '',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
].filter((candidatePath) => candidatePath !== '');

/**
 * A long limit, because everything takes longer on a busy machine. No test measures time with it.
 */
const timeoutMs = 120_000;

export interface OpenBrowser extends AsyncDisposable {
  /** Opens a page in a new context, without cookies or stored data. */
  newPage(options?: BrowserContextOptions): Promise<WatchedPage>;
}

export interface WatchedPage {
  readonly page: Page;
  readonly context: BrowserContext;
  /**
   * Things that may never happen on a page, but did: blocked inline code, uncaught errors, dialogs,
   * and requests to other origins.
   */
  readonly complaints: string[];
}

/**
 * Starts the Chromium that the operating system has installed. Features that make requests by
 * themselves are switched off.
 */
export async function openChromium(): Promise<OpenBrowser> {
  const executablePath = executablePaths.find((candidatePath) => existsSync(candidatePath));
  if (executablePath === undefined)
    throw new Error(`no Chromium at ${executablePaths.join(' or ')}`);
  const profile = await mkdtemp(join(tmpdir(), 'gateway-chromium-'));
  const browser = await chromium.launch({
    executablePath,
    timeout: timeoutMs,
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
      context.setDefaultTimeout(timeoutMs);
      const page = await context.newPage();
      return { page, context, complaints: watchPage(page) };
    },
    async [Symbol.asyncDispose]() {
      await browser.close();
      await rm(profile, { recursive: true, force: true });
    },
  };
}

function watchPage(page: Page): string[] {
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  page.on('dialog', (dialog) => {
    complaints.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    const text = message.text();
    // Chromium logs every response with a status of 400 or more as an error, but tests cause such
    // responses on purpose.
    if (message.type() === 'error' && !text.startsWith('Failed to load resource')) {
      complaints.push(`console: ${text}`);
    }
  });
  page.on('request', (request) => {
    const { origin, protocol } = new URL(request.url());
    const isOwnOrigin = !page.url().startsWith('http') || origin === new URL(page.url()).origin;
    if (!isOwnOrigin && !['blob:', 'data:'].includes(protocol)) {
      complaints.push(`request to ${request.url()}`);
    }
  });
  return complaints;
}
