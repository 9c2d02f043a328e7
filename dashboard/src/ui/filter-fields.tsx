import { For, createEffect, createSignal, createUniqueId, onCleanup, untrack } from 'solid-js';

import { fieldLook } from './field.tsx';
import { toVisibleText } from './visible-characters.ts';

/** How long to wait after a letter before searching, in case another letter follows. */
const typingMs = 300;

/** A search field. It searches once the person has stopped typing. */
export function SearchField(props: {
  label: string;
  text: string;
  onSearch: (text: string) => void;
}) {
  const id = createUniqueId();
  const [text, setText] = createSignal(untrack(() => props.text));
  let timer: ReturnType<typeof setTimeout> | undefined;
  // The text in the address also changes when the person goes back or clears all filters.
  createEffect(() => setText(props.text));
  onCleanup(() => clearTimeout(timer));
  const search = (typed: string) => {
    setText(typed);
    clearTimeout(timer);
    timer = setTimeout(() => props.onSearch(typed), typingMs);
  };
  return (
    <>
      <label for={id} class="sr-only">
        {props.label}
      </label>
      <input
        id={id}
        type="search"
        class={fieldLook}
        placeholder="Search"
        maxLength={200}
        autocomplete="off"
        spellcheck={false}
        value={text()}
        onInput={(event) => search(event.currentTarget.value)}
      />
    </>
  );
}

/**
 * The choices of a filter. They include the value in the address, even if no loaded item has it.
 */
export function withChosen(
  names: Map<string, string>,
  chosen: string,
  name: string,
): [string, string][] {
  if (chosen !== '' && !names.has(chosen)) names.set(chosen, name);
  return [...names].toSorted(([, one], [, other]) => one.localeCompare(other)).slice(0, 200);
}

/** A list for choosing one value to filter by. */
export function Select(props: {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}) {
  return (
    <select
      class="min-h-11 w-full min-w-0 rounded-lg border border-line-strong bg-surface px-2 text-sm"
      aria-label={props.label}
      onChange={(event) => props.onChange(event.currentTarget.value)}
    >
      <For each={props.options}>
        {([value, text]) => (
          <option value={value} selected={value === props.value}>
            {toVisibleText(text)}
          </option>
        )}
      </For>
    </select>
  );
}
