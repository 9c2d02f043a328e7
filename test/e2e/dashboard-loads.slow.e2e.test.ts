import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { openChromium } from '../browser/chromium.ts';
import { followAllPageLoads } from '../browser/page-loads.ts';
import { setScene } from '../browser/scene.ts';
import { needs } from '../support/needs.ts';
import { chooseSweepValue } from '../support/sweeps.ts';

const chromium = needs('chromium');
const pages = chooseSweepValue({
  sampled: { inBothSizes: false, stride: 4 },
  whole: { inBothSizes: true, stride: 1 },
});
/** Loads wait until nothing moves any more, which takes long on a busy machine. */
const timeout = 600_000;

/** How fast the pages are, `npm run bench:pages` measures; a busy machine would make a test of it fail. */
test.skipIf(!chromium.isAvailable)(
  `pages of the dashboard come up without moving what they show${chromium.note}`,
  { timeout },
  async () => {
    await using running = new AsyncDisposableStack();
    const dataDir = await mkdtemp(join(tmpdir(), 'aag-scene-'));
    running.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
    const scene = running.use(await setScene(dataDir));
    const browser = running.use(await openChromium());

    const moved: string[] = [];
    for await (const load of followAllPageLoads(browser, scene, pages)) {
      const { name, size, interactiveMs, moves } = load;
      process.stdout.write(`${name}, ${size}: ${Math.round(interactiveMs)} ms\n`);
      if (moves.length > 0) moved.push(`${name}, ${size}: ${moves.join('; ')}`);
    }
    expect(moved).toEqual([]);
  },
);
