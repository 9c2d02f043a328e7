/**
 * `npm run screenshots -- [folder] [pattern]`: takes screenshots of every page of the dashboard, in
 * both themes and two sizes, and prints the folder. The pages come from a gateway with realistic
 * content. With a pattern, only shots whose name matches are taken.
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type { Page } from 'playwright-core';

import { orExit } from '#process';
import { waitForTransitions } from './axe.ts';
import { openChromium } from './chromium.ts';
import type { WatchedPage } from './chromium.ts';
import { openShot } from './open-shot.ts';
import { setScene } from './scene.ts';
import type { Scene } from './scene.ts';
import { shotsOf } from './shots.ts';
import type { Shot } from './shots.ts';

const themes = ['light', 'dark'] as const;

await orExit(async () => {
  const [, , folder = await mkdtemp(join(tmpdir(), 'aag-screenshots-')), only = ''] = process.argv;
  await mkdir(folder, { recursive: true });
  await using running = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-scene-'));
  running.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const scene = running.use(await setScene(dataDir));
  const browser = running.use(await openChromium());
  const watched = await browser.newPage();
  for (const shot of shotsOf(scene)) {
    if (new RegExp(only).test(shot.name)) await takeShot(watched, { scene, shot, folder });
  }
  process.stdout.write(`${folder}\n`);
});

/**
 * If the page is longer than the screen, two screenshots are taken: the part that is visible first,
 * and the whole page.
 */
async function takeShot(
  watched: WatchedPage,
  { scene, shot, folder }: { scene: Scene; shot: Shot; folder: string },
): Promise<void> {
  const { page } = watched;
  await openShot(watched, {
    scene,
    shot,
    async look(size) {
      for (const theme of themes) {
        await page.emulateMedia({ colorScheme: theme });
        await page.evaluate(waitForTransitions);
        const path = join(folder, `${shot.name}.${size}.${theme}`);
        await page.screenshot({ path: `${path}.png` });
        if (await isLonger(page))
          await page.screenshot({ path: `${path}.whole.png`, fullPage: true });
      }
    },
  });
}

function isLonger(page: Page): Promise<boolean> {
  return page.evaluate<boolean>('document.documentElement.scrollHeight > innerHeight');
}
