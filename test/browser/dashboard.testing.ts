import { beforeAll, beforeEach } from 'vitest';
import type { Page } from 'playwright-core';

import { openChromium } from './chromium.ts';
import type { OpenBrowser, WatchedPage } from './chromium.ts';
import { startFixtureServer } from './fixture-server.testing.ts';
import type { FixtureServer } from './fixture-server.testing.ts';
import { ann } from './fixtures.testing.ts';

export const desktop = { width: 1280, height: 900 };
export const phone = { width: 360, height: 740 };

type PageOptions = Parameters<OpenBrowser['newPage']>[0];

/**
 * The dashboard's build over the fixture server, in one browser for the tests of a `describe`. Each
 * test starts without approvals, and fails on what its pages complain of.
 */
export function useDashboard() {
  let server: FixtureServer | undefined;
  let browser: OpenBrowser | undefined;
  const opened: WatchedPage[] = [];
  const running = () => {
    if (server === undefined || browser === undefined) throw new Error('no test is running');
    return { server, browser };
  };

  beforeAll(async () => {
    const stack = new AsyncDisposableStack();
    server = stack.use(await startFixtureServer());
    browser = stack.use(await openChromium());
    return () => stack.disposeAsync();
  });

  beforeEach(() => {
    const fixture = running().server;
    fixture.me = ann;
    fixture.approvals = [];
    fixture.failures.length = 0;
    fixture.resolutions.length = 0;
    fixture.calls.length = 0;
    fixture.beforeResolve = () => {};
    return async () => {
      for (const { context, complaints } of opened.splice(0)) {
        await context.close();
        if (complaints.length > 0) throw new Error(complaints.join('\n'));
      }
    };
  });

  return {
    get server() {
      return running().server;
    },
    open: async (path: string, options: PageOptions = {}): Promise<Page> => {
      const watched = await running().browser.newPage({ viewport: desktop, ...options });
      opened.push(watched);
      await watched.page.goto(running().server.url + path);
      return watched.page;
    },
  };
}
