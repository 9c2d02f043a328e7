import { A } from '@solidjs/router';

import { useTitle } from '../ui/title.ts';

/** At an address that is no page; the gateway says the same where it serves no page of the dashboard. */
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
