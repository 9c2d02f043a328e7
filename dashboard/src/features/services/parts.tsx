import { createUniqueId } from 'solid-js';
import type { JSX } from 'solid-js';

import { Spinner } from '../../ui/icon.tsx';

export function Loading() {
  return (
    <p class="flex items-center gap-3 py-10 text-ink-soft" role="status">
      <Spinner /> Loading…
    </p>
  );
}

/** A titled part of a page, in a box. */
export function Panel(props: { id?: string; title: JSX.Element; children: JSX.Element }) {
  const titleId = createUniqueId();
  return (
    <section
      id={props.id}
      class="mt-4 scroll-mt-20 rounded-2xl border border-line bg-surface px-4 py-4 shadow-sm sm:px-6 sm:py-5"
      aria-labelledby={titleId}
    >
      <h2 id={titleId} class="font-semibold">
        {props.title}
      </h2>
      <div class="mt-3 grid grid-cols-[minmax(0,1fr)] gap-4">{props.children}</div>
    </section>
  );
}
