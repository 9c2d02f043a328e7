import { gzipSync } from 'node:zlib';

import { describe, expect, test } from 'vitest';

import { useDashboard } from '../browser/dashboard.testing.ts';
import { needs } from '../support/needs.ts';

const chromium = needs('chromium');
const firstLoadBytesMax = 180_000;

describe.skipIf(!chromium.isAvailable)(`the first load of the dashboard${chromium.note}`, () => {
  const dashboard = useDashboard();

  test('loads at most 180 kB of compressed JavaScript, without the code of other pages', async () => {
    const page = await dashboard.open('/no-such-page');
    const scripts = new Map<string, number>();
    page.on('response', (response) => {
      if (!response.url().endsWith('.js')) return;
      void response.body().then((body) => scripts.set(response.url(), gzipSync(body).length));
    });
    await page.goto(`${dashboard.server.url}/approvals`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.waitForLoadState('networkidle');

    const bytes = [...scripts.values()].reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeGreaterThan(20_000);
    expect(bytes).toBeLessThanOrEqual(firstLoadBytesMax);
    expect([...scripts.keys()].filter((url) => url.includes('agent-page'))).toEqual([]);
  });
});
