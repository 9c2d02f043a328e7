import type { JSX } from 'solid-js';

/** Says that a part of the page has nothing to show. */
export function Nothing(props: { children: JSX.Element }) {
  return <p class="text-ink-soft">{props.children}</p>;
}
