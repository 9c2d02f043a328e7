import type { OpenBrowser } from './chromium.ts';
import { followPageLoad } from './page-load.ts';
import type { PageLoad } from './page-load.ts';
import type { Scene } from './scene.ts';
import { cookieOf, screenSizes, shotsOf } from './shots.ts';

export interface NamedPageLoad extends PageLoad {
  readonly name: string;
  readonly size: keyof typeof screenSizes;
}

const sizes = ['phone', 'desktop'] as const;

/**
 * Opens every page, or only each `stride`th page, one after the other, each time with an empty
 * cache. Each page is opened in both sizes, or in alternating sizes if `inBothSizes` is false.
 */
export async function* followAllPageLoads(
  browser: OpenBrowser,
  scene: Scene,
  {
    inBothSizes = true,
    stride = 1,
  }: { readonly inBothSizes?: boolean; readonly stride?: number } = {},
): AsyncGenerator<NamedPageLoad> {
  const pages = shotsOf(scene)
    .filter(({ mainAct }) => mainAct !== undefined)
    .filter((_, index) => index % stride === 0);
  for (const [index, { name, as, path, mainAct = '' }] of pages.entries()) {
    for (const size of inBothSizes ? sizes : sizes.slice(index % 2).slice(0, 1)) {
      const { page, context } = await browser.newPage({ viewport: screenSizes[size] });
      if (as !== null) await context.addCookies([cookieOf(as, scene.url)]);
      const load = await followPageLoad(page, { url: scene.url + path, mainAct });
      yield { name, size, ...load };
      await context.close();
    }
  }
}
