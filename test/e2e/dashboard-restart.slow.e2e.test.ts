import { describe, expect, test } from 'vitest';

import { startComponents } from '../../launch.ts';
import { findProblemsInBothSchemes } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import { phoneViewport } from '../browser/dashboard.testing.ts';
import { needs } from '../support/needs.ts';
import { createAgent, startWorld, successfulBodyOf } from '../support/world.ts';

const chromium = needs('chromium');

describe.skipIf(!chromium.isAvailable)(`an open page of the dashboard${chromium.note}`, () => {
  test('reports the lost connection while the gateway restarts, and then shows new approvals without a reload', async () => {
    await using stack = new AsyncDisposableStack();
    let stop = async () => {};
    let start = async () => {};
    const world = stack.use(
      await startWorld({}, async (environment) => {
        const startOnce = async () => {
          const running = await startComponents(environment);
          stop = async () => {
            await running[Symbol.asyncDispose]();
          };
          return running;
        };
        start = async () => void (await startOnce());
        return { ...(await startOnce()), [Symbol.asyncDispose]: () => stop() };
      }),
    );
    const bot = await createAgent(world.url, world.admin, 'deploy-bot');
    const suspendCall = async (note: string) => {
      const url = `${world.upstream.url}/notes/${note}`;
      successfulBodyOf(
        await bot.post('/v1/actions/call', { service: 'http', method: 'POST', url }),
      );
    };
    await suspendCall('first');
    const browser = stack.use(await openChromium());
    const { page, context } = await browser.newPage({ viewport: phoneViewport });
    const [name = '', value = ''] = world.admin.cookie.split('=');
    await context.addCookies([{ name, value, url: world.url }]);
    await page.goto(`${world.url}/approvals`);
    const rows = page.getByRole('main').getByRole('listitem');
    await rows.getByText('/notes/first').waitFor();
    await page.getByText('Live', { exact: true }).waitFor({ state: 'attached' });
    await page.evaluate('window.isSamePage = true');

    await stop();
    stop = async () => {};
    const disconnectedNotice = page.getByText('No connection to the gateway');
    await disconnectedNotice.waitFor();
    await page.getByText('Reconnecting', { exact: true }).waitFor();
    expect(await rows.count()).toBe(1);
    expect(await findProblemsInBothSchemes(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(phoneViewport.width);

    await start();
    await suspendCall('second');
    await rows.getByText('/notes/second').waitFor();
    await page.getByText('Live', { exact: true }).waitFor({ state: 'attached' });
    await disconnectedNotice.waitFor({ state: 'detached' });
    await suspendCall('third');
    await rows.getByText('/notes/third').waitFor();
    expect(await page.evaluate('window.isSamePage')).toBe(true);
  });
});
