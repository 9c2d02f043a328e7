import { For, Show, createMemo } from 'solid-js';
import type { JSX } from 'solid-js';

/**
 * The rows of a list, each kept while its key is in the list: what a person has opened or entered in
 * a row stays when the list is loaded again.
 */
export function KeyedList<Item>(props: {
  items: readonly Item[];
  keyOf: (item: Item) => string;
  children: (item: () => Item) => JSX.Element;
}) {
  const byKey = createMemo(() => new Map(props.items.map((item) => [props.keyOf(item), item])));
  const keys = createMemo(() => [...byKey().keys()]);
  return (
    <For each={keys()}>
      {(key) => <Show when={byKey().get(key)}>{(item) => props.children(item)}</Show>}
    </For>
  );
}
