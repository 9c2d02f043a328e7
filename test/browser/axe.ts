import { AxeBuilder } from '@axe-core/playwright';
import type { Page } from 'playwright-core';

const nothingToLoad = { axeSource: 'void 0' };

/**
 * The accessibility problems that axe finds on the page, one per line, by the rules of WCAG 2.2 AA
 * and axe's best practices.
 */
export async function findAccessibilityProblems(page: Page): Promise<string[]> {
  // The source of axe takes longer to load than axe takes to run, and stays loaded with the page.
  const isLoaded = await page.evaluate('window.axe !== undefined');
  const { violations } = await new AxeBuilder({ page, ...(isLoaded === true && nothingToLoad) })
    .options({ resultTypes: ['violations'] })
    .withTags(['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'])
    // The pages have no frames. The other mode opens a second page for the results of each frame.
    .setLegacyMode()
    .analyze();
  return violations.map(
    ({ id, nodes }) => `${id}: ${nodes.map(({ target }) => target.join(' ')).join('; ')}`,
  );
}

/**
 * Waits for the transitions of the page's colours. Reduced motion makes them short, but the colour
 * that an element inherits starts one only after the one of its parent. Those in closed details
 * never end, because the browser draws nothing there.
 */
export const waitForTransitions = `(async () => {
  const findRunning = () =>
    document.getAnimations().filter(({ effect }) => effect.target.checkVisibility());
  for (let running; (running = findRunning()).length > 0; ) {
    await Promise.allSettled(running.map(({ finished }) => finished));
    // A transition that has ended is dropped by the next frame, for which the page needs its thread.
    await new Promise(requestAnimationFrame);
  }
})()`;

/** The same problems in the light and then in the dark scheme, in which the page stays. */
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
