/**
 * `npm run bench:pages` opens every page of the dashboard in Chromium with an empty cache. Measures
 * when the page can be used, and how much its layout shifts while it loads. Writes the section
 * "Pages" of docs/performance.md.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { orExit } from '#process';
import { openChromium } from '../browser/chromium.ts';
import { followAllPageLoads } from '../browser/page-loads.ts';
import { setScene } from '../browser/scene.ts';
import { listBrokenPagePromises, renderPages, summarisePages } from './pages-report.ts';
import type { NamedPageLoad } from '../browser/page-loads.ts';
import { writeReportPart } from './sections.ts';

const rounds = 5;

await orExit(async () => {
  await using running = new AsyncDisposableStack();
  const dataDir = await mkdtemp(join(tmpdir(), 'aag-scene-'));
  running.defer(() => rm(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  const scene = running.use(await setScene(dataDir));
  const browser = running.use(await openChromium());
  const loads: NamedPageLoad[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    for await (const load of followAllPageLoads(browser, scene)) {
      loads.push(load);
      process.stdout.write(
        `${round}/${rounds} ${load.name}, ${load.size}: ${load.interactiveMs.toFixed(0)} ms\n`,
      );
    }
  }
  const pages = summarisePages(loads);
  await writeReportPart('Pages', renderPages(pages, rounds));
  const brokenPromises = listBrokenPagePromises(pages);
  for (const each of brokenPromises) process.stdout.write(`${each}\n`);
  if (brokenPromises.length > 0) process.exitCode = 1;
});
