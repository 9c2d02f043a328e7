import { beforeAll, beforeEach } from 'vitest';
import type { Page } from 'playwright-core';

import { openChromium } from './chromium.ts';
import type { OpenBrowser, WatchedPage } from './chromium.ts';
import { startFixtureServer } from './fixture-server.testing.ts';
import type { FixtureServer } from './fixture-server.testing.ts';
import { ann } from './fixtures.testing.ts';

export const desktopViewport = { width: 1280, height: 900 };
export const phoneViewport = { width: 360, height: 740 };

interface PageOptions {
  readonly viewport?: { readonly width: number; readonly height: number };
  /**
   * Opens a page for this test only. It is for tests that change what a reload does not reset, such
   * as the clock.
   */
  readonly isOwn?: boolean;
}

/**
 * Serves the built dashboard from the fixture server. All tests of a `describe` share one page in
 * one browser, because a new page takes three times as long to load. Each test starts without
 * approvals. A test fails if one of its pages has complaints.
 */
export function useDashboard() {
  let server: FixtureServer | undefined;
  let browser: OpenBrowser | undefined;
  let sharedPage: WatchedPage | undefined;
  const ownPages: WatchedPage[] = [];
  const getRunning = () => {
    if (server === undefined || browser === undefined || sharedPage === undefined) {
      throw new Error('no test is running');
    }
    return { server, browser, shared: sharedPage };
  };

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    server = stack.use(await startFixtureServer());
    browser = stack.use(await openChromium());
    sharedPage = await browser.newPage();
    return () => stack.disposeAsync();
  });

  beforeEach(() => {
    const fixture = getRunning().server;
    fixture.me = ann;
    fixture.approvals = [];
    fixture.emptyPages = 0;
    fixture.rules = [];
    fixture.stoppedRules.length = 0;
    fixture.why = [];
    fixture.connections = [];
    fixture.secrets = [];
    fixture.answers = {};
    fixture.failures.length = 0;
    fixture.resolutions.length = 0;
    fixture.calls.length = 0;
    fixture.beforeResolve = () => {};
    return async () => {
      const { page, complaints } = getRunning().shared;
      await page.goto('about:blank');
      // If the pointer stayed over a button, the button would have another colour in the next test.
      await page.mouse.move(0, 0);
      for (const watched of ownPages.splice(0)) {
        await watched.context.close();
        complaints.push(...watched.complaints);
      }
      const allComplaints = complaints.splice(0);
      if (allComplaints.length > 0) throw new Error(allComplaints.join('\n'));
    };
  });

  return {
    get server() {
      return getRunning().server;
    },
    /**
     * Loads the path in the light scheme, in the page that the tests share or in the test's own
     * page.
     */
    open: async (path: string, options: PageOptions = {}): Promise<Page> => {
      const { viewport = desktopViewport, isOwn = false } = options;
      const { browser: from, shared: watched, server: fixture } = getRunning();
      if (isOwn) ownPages.push(await from.newPage());
      const { page } = ownPages.at(-1) ?? watched;
      await page.setViewportSize(viewport);
      await page.emulateMedia({ colorScheme: 'light' });
      await page.goto(new URL(path, fixture.url).href);
      return page;
    },
  };
}
