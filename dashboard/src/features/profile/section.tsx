import { createUniqueId } from 'solid-js';
import type { JSX } from 'solid-js';

/** A part of the page with its heading. */
export function Section(props: { title: string; children: JSX.Element }) {
  const id = createUniqueId();
  return (
    <section aria-labelledby={id} class="rounded-2xl border border-line bg-surface p-5 sm:p-6">
      <h2 id={id} class="mb-3 text-lg font-semibold">
        {props.title}
      </h2>
      {props.children}
    </section>
  );
}
