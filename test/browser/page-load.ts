import type { Page } from 'playwright-core';

/** How a page of the dashboard loaded from the network, with an empty cache. */
export interface PageLoad {
  /**
   * The time from the start of the navigation until the person could use the main element of the
   * page. The element is there, nothing on the page is loading any more, and no later task over 50
   * ms blocks the page.
   */
  readonly interactiveMs: number;
  /** The sum of the layout shifts that were not caused by input of a person. */
  readonly shift: number;
  /** Descriptions of what moved, one for each move. */
  readonly moves: readonly string[];
}

/** How long a page must stay unchanged until it counts as loaded. */
const quietMs = 1_000;
/** A long limit, because everything takes longer on a busy machine. No page is measured by it. */
const loadMsMax = 60_000;

/**
 * Opens the address in a page of a new context, whose cache is empty, and observes the loading
 * until the page no longer changes. `mainAct` is the text of the main element: the button, link or
 * heading for which a person opens the page.
 */
export async function followPageLoad(
  page: Page,
  { url, mainAct }: { readonly url: string; readonly mainAct: string },
): Promise<PageLoad> {
  await page.addInitScript(observeLoading(mainAct));
  await page.goto(url);
  return page.evaluate<PageLoad>(untilStill);
}

/** Polls inside the page, because Playwright's own waiting needs `eval`, which the page forbids. */
const untilStill = `(async () => {
  while (performance.now() - pageLoad.usableAt() < ${quietMs}) {
    if (performance.now() > ${loadMsMax}) throw new Error('the main act of the page never came');
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const { shift, moves } = pageLoad;
  return { interactiveMs: pageLoad.usableAt(), shift, moves };
})()`;

/**
 * Returns a script that runs before the scripts of the page. An element counts as usable if a click
 * on its middle would reach it, or, below the visible part of the page, if it is drawn.
 */
function observeLoading(mainAct: string): string {
  return `(() => {
    let readyAt = Infinity;
    let longTaskEndedAt = 0;
    const pageLoad = (window.pageLoad = {
      shift: 0,
      moves: [],
      usableAt: () => Math.max(readyAt, longTaskEndedAt),
    });
    const isShown = (element) => element.checkVisibility({ visibilityProperty: true });
    const isUsable = (element) => {
      if (element.disabled || !isShown(element)) return false;
      const { left, top, width, height } = element.getBoundingClientRect();
      const [x, y] = [left + width / 2, top + height / 2];
      return y > innerHeight || element.contains(document.elementFromPoint(x, y));
    };
    const isReady = () =>
      ![...document.querySelectorAll('.animate-spin')].some(isShown) &&
      [...document.querySelectorAll('main :is(a, button, summary, label, h1)')].some(
        (element) => element.textContent.includes(${JSON.stringify(mainAct)}) && isUsable(element),
      );
    const look = () => {
      if (!isReady()) readyAt = Infinity;
      else if (readyAt === Infinity) readyAt = performance.now();
      requestAnimationFrame(look);
    };
    look();
    const observe = (type, note) =>
      new PerformanceObserver((list) => list.getEntries().forEach(note)).observe({ type, buffered: true });
    observe('longtask', ({ startTime, duration }) => {
      longTaskEndedAt = startTime + duration;
    });
    observe('layout-shift', ({ value, hadRecentInput, sources }) => {
      if (hadRecentInput) return;
      pageLoad.shift += value;
      for (const { node, previousRect: from, currentRect: to } of sources) {
        const text = (node?.textContent ?? '').trim().slice(0, 40);
        pageLoad.moves.push(
          (node?.nodeName ?? '(gone)') + ' “' + text + '” from ' +
            [from.x, from.y].map(Math.round) + ' to ' + [to.x, to.y].map(Math.round),
        );
      }
    });
  })()`;
}
