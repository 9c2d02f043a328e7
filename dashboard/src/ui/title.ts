import { createEffect, onCleanup } from 'solid-js';

const product = 'Agent Action Gateway';

/** The name of the tab while its caller is on the page. */
export function useTitle(title: () => string): void {
  createEffect(() => {
    document.title = `${title()} · ${product}`;
  });
  onCleanup(() => {
    document.title = product;
  });
}
