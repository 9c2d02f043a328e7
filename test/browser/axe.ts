import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

const nothingToLoad = { axeSource: 'void 0' };

/**
 * The accessibility problems that axe finds on the page, one per line. The rules are those of WCAG
 * 2.2 AA and axe's best practices.
 */
export async function findAccessibilityProblems(page: Page): Promise<string[]> {
  // Loading the source of axe takes longer than running axe. Once loaded, the source stays in the
  // page.
  const isLoaded = await page.evaluate('window.axe !== undefined');
  const { violations } = await new AxeBuilder({ page, ...(isLoaded === true && nothingToLoad) })
    .options({ resultTypes: ['violations'] })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
    // Legacy mode runs in this page only. The other mode opens a second page for the results of
    // frames, but the dashboard has no frames.
    .setLegacyMode()
    .analyze();
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join('; ')}`,
  );
}

/**
 * Waits until the colours of the page no longer change. With reduced motion, transitions are short.
 * But if an element inherits a colour, its transition starts only after that of its parent.
 * Transitions in closed details are ignored: they never end, because the browser draws nothing
 * there.
 */
export const waitForTransitions = `(async () => {
  const findRunning = () =>
    document.getAnimations().filter(({ effect }) => effect.target.checkVisibility());
  for (let running; (running = findRunning()).length > 0; ) {
    await Promise.allSettled(running.map(({ finished }) => finished));
    // The browser removes a finished transition only in the next frame. The page needs its thread
    // for it.
    await new Promise(requestAnimationFrame);
  }
})()`;

/** Finds problems in the light and then in the dark scheme. The page stays in the dark scheme. */
export async function findProblemsInBothSchemes(page: Page): Promise<string[]> {
  const problems: string[] = [];
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme });
    await page.evaluate(waitForTransitions);
    const foundProblems = await findAccessibilityProblems(page);
    problems.push(...foundProblems.map((problem) => `${colorScheme}: ${problem}`));
  }
  return problems;
}
