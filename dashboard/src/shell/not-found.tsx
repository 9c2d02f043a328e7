import { A } from '@solidjs/router';

import { useTitle } from '../ui/title.ts';

/**
 * Shown at an address without a page. The gateway shows the same text at addresses outside the
 * dashboard.
 */
export function NotFound() {
  useTitle(() => 'Not found');
  return (
    <main id="content" class="mx-auto max-w-lg p-6 pt-[15vh]">
      <h1 class="text-xl font-semibold">There is no page at this address</h1>
      <p class="mt-2 text-ink-soft">It may have moved, or the link may be cut off or mistyped.</p>
      <A
        href="/"
        class="mt-6 inline-flex min-h-11 items-center rounded-lg bg-accent px-4 font-semibold text-on-accent hover:bg-accent-hover"
      >
        Go to Home
      </A>
    </main>
  );
}
