import { For, Show, createMemo } from 'solid-js';
import type { JSX } from 'solid-js';

/**
 * A list whose rows are kept by key. So what a person has opened or entered in a row stays when the
 * list is loaded again.
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
