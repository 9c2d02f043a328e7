import type { JSX } from 'solid-js';

/** A word that classifies the item beside it. */
export function Chip(props: { children: JSX.Element }) {
  return (
    <span class="rounded-full border border-line px-2 text-xs leading-5 font-medium whitespace-nowrap text-ink-soft">
      {props.children}
    </span>
  );
}
