import { Show, createUniqueId } from 'solid-js';
import type { JSX } from 'solid-js';

/** One part of the home page with its heading. */
export function HomeSection(props: { title: string; note?: JSX.Element; children: JSX.Element }) {
  const titleId = createUniqueId();
  return (
    <section aria-labelledby={titleId}>
      <div class="mb-2 flex flex-wrap items-baseline justify-between gap-x-3 px-1">
        <h2 id={titleId} class="text-lg font-semibold">
          {props.title}
        </h2>
        <Show when={props.note}>
          <p class="text-sm text-ink-soft">{props.note}</p>
        </Show>
      </div>
      {props.children}
    </section>
  );
}

export function Empty(props: { children: JSX.Element }) {
  return (
    <p class="rounded-xl border border-dashed border-line-strong px-4 py-6 text-center text-ink-soft">
      {props.children}
    </p>
  );
}

/** A list whose rows are together in one box. */
export function Rows(props: { children: JSX.Element }) {
  return (
    <ul class="divide-y divide-line overflow-hidden rounded-xl border border-line bg-surface">
      {props.children}
    </ul>
  );
}
