import type { Page } from 'playwright-core';

import { waitForTransitions } from './axe.ts';
import type { WatchedPage } from './chromium.ts';
import type { Scene } from './scene.ts';
import { cookieOf, screenSizes } from './shots.ts';
import type { Shot } from './shots.ts';

interface ShotOptions {
  readonly scene: Scene;
  readonly shot: Shot;
  /** Examines the page. Called once in each screen size. */
  readonly look: (size: keyof typeof screenSizes) => Promise<unknown>;
}

/** Brings the page into the state of the shot, in each screen size, and calls `look`. */
export async function openShot(
  { page, context }: WatchedPage,
  { scene, shot, look }: ShotOptions,
): Promise<void> {
  // Leaves the open page, because the dashboard reloads itself when another person signs in.
  await page.goto('about:blank');
  await context.clearCookies();
  if (shot.as !== null) await context.addCookies([cookieOf(shot.as, scene.url)]);
  for (const size of ['phone', 'desktop'] as const) {
    await page.setViewportSize(screenSizes[size]);
    await page.emulateMedia({ colorScheme: 'light' });
    await shot.before?.(page);
    await page.goto(scene.url + shot.path);
    await untilQuiet(page);
    await shot.prepare?.(page);
    await untilQuiet(page);
    await look(size);
    await page.unrouteAll();
  }
}

/**
 * Waits until the page shows its content. A page with an event stream never stops loading, so this
 * cannot wait until nothing loads.
 */
async function untilQuiet(page: Page): Promise<void> {
  await page.locator('h1:visible, h2:visible').first().waitFor();
  await page.locator('.animate-spin:visible').first().waitFor({ state: 'detached' });
  await page.evaluate(waitForTransitions);
}
