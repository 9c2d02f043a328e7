import { createEffect, onCleanup } from 'solid-js';

import { toVisibleText } from './visible-characters.ts';

const productName = 'Agent Action Gateway';

/**
 * Sets the title of the tab while the calling component is on the page. Invisible characters are
 * replaced by their names, because browsers list the titles of several pages beside each other.
 */
export function useTitle(title: () => string): void {
  createEffect(() => {
    document.title = `${toVisibleText(title())} · ${productName}`;
  });
  onCleanup(() => {
    document.title = productName;
  });
}
