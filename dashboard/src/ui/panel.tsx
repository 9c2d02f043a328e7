import { createUniqueId } from 'solid-js';
import type { JSX } from 'solid-js';

/**
 * A titled part of a page. `act` is shown beside the title: buttons that concern the whole part.
 */
export function Panel(props: { title: JSX.Element; act?: JSX.Element; children: JSX.Element }) {
  const titleId = createUniqueId();
  return (
    <section
      class="rounded-2xl border border-line bg-surface px-4 py-4 sm:px-6 sm:py-5"
      aria-labelledby={titleId}
    >
      <div class="mb-3 flex flex-wrap items-center justify-between gap-2">
        <h2 id={titleId} class="text-lg font-semibold">
          {props.title}
        </h2>
        {props.act}
      </div>
      {props.children}
    </section>
  );
}
