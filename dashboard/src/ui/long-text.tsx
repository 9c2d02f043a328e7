import { Show, createMemo, createSignal } from 'solid-js';

import { cutText } from './cut-text.ts';
import { VisibleText } from './visible-text.tsx';

/**
 * Shows a value of any length. Of a long value it shows the beginning, how much is hidden, and a
 * button that shows everything.
 */
export function LongText(props: {
  text: string;
  charactersMax?: number;
  linesMax?: number;
  class?: string;
}) {
  const [isWhole, setWhole] = createSignal(false);
  const shortened = createMemo(() =>
    cutText(props.text, {
      charactersMax: props.charactersMax ?? 600,
      linesMax: props.linesMax ?? 12,
    }),
  );
  const isCut = () => shortened().hidden > 0 && !isWhole();

  return (
    <div class={props.class}>
      {/* Even four accents on a letter may reach out of the box. What is outside is not drawn. */}
      <div class="overflow-hidden whitespace-pre-wrap" dir="auto">
        <VisibleText text={isCut() ? shortened().text : props.text} multiline />
        <Show when={isCut()}>
          <span aria-hidden="true">…</span>
        </Show>
      </div>
      <Show when={shortened().hidden > 0}>
        <button
          type="button"
          class="mt-1 rounded-md border border-line-strong bg-surface px-3 py-1 font-sans sm:mt-2 sm:py-1.5 text-sm font-medium text-ink hover:bg-sunken"
          aria-expanded={isWhole()}
          onClick={() => setWhole((whole) => !whole)}
        >
          <Show when={!isWhole()} fallback="Show less">
            Show all {shortened().total.toLocaleString('en')} characters
            <span class="max-sm:hidden"> ({shortened().hidden.toLocaleString('en')} more)</span>
          </Show>
        </button>
      </Show>
    </div>
  );
}
