import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { findProblemsInBothSchemes } from '../browser/axe.ts';
import { openChromium } from '../browser/chromium.ts';
import { openShot } from '../browser/open-shot.ts';
import { followAllPageLoads } from '../browser/page-loads.ts';
import { setScene } from '../browser/scene.ts';
import type { Scene } from '../browser/scene.ts';
import { shotsOf } from '../browser/shots.ts';
import { needs } from '../support/needs.ts';
import { chooseSweepValue } from '../support/sweeps.ts';

const chromium = needs('chromium');
const pages = chooseSweepValue({
  sampled: { inBothSizes: false, stride: 4 },
  whole: { inBothSizes: true, stride: 1 },
});
/** A page load is over when nothing moves any more, which takes long on a busy machine. */
const timeout = 1_800_000;

const running = new AsyncDisposableStack();
let scene: Scene;
let browser: Awaited<ReturnType<typeof openChromium>>;
beforeAll(async () => {
  if (!chromium.isAvailable) return;
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-scene-'));
  running.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  scene = running.use(await setScene(dataDir));
  browser = running.use(await openChromium());
}, timeout);
afterAll(() => running.disposeAsync());

/**
 * This test does not check how fast the pages load, because it would fail on a busy machine. `npm
 * run bench:pages` measures that.
 */
test.skipIf(!chromium.isAvailable)(
  `pages of the dashboard load without moving what they show${chromium.note}`,
  { timeout },
  async () => {
    const moved: string[] = [];
    for await (const load of followAllPageLoads(browser, scene, pages)) {
      const { name, size, interactiveMs, moves } = load;
      process.stdout.write(`${name}, ${size}: ${Math.round(interactiveMs)} ms\n`);
      if (moves.length > 0) moved.push(`${name}, ${size}: ${moves.join('; ')}`);
    }
    expect(moved).toEqual([]);
  },
);

/**
 * Axe reports a control that is scrolled under a bar of the dashboard as too small. So the bars are
 * made part of the page.
 */
const putBarsIntoThePage = `for (const bar of document.querySelectorAll('header, nav')) {
  bar.style.position = 'static';
}`;

test.skipIf(!chromium.isAvailable)(
  `every page and state has no accessibility problem, and is no wider than the screen${chromium.note}`,
  { timeout },
  async () => {
    const watched = await browser.newPage();
    const problems: string[] = [];
    for (const shot of shotsOf(scene).filter((_, at) => at % pages.stride === 0)) {
      await openShot(watched, {
        scene,
        shot,
        async look(size) {
          await watched.page.evaluate(putBarsIntoThePage);
          for (const problem of await findProblemsInBothSchemes(watched.page)) {
            problems.push(`${shot.name}, ${size}: ${problem}`);
          }
          if (await watched.page.evaluate('document.documentElement.scrollWidth > innerWidth')) {
            problems.push(`${shot.name}, ${size}: scrolls sideways`);
          }
        },
      });
    }
    expect(problems).toEqual([]);
  },
);
