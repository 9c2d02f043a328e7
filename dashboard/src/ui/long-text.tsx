import { Show, createMemo, createSignal } from 'solid-js';

import { cutText } from './cut-text.ts';
import { VisibleText } from './visible-text.tsx';

/** A value of any length: its beginning, how much more there is, and a button that shows all. */
export function LongText(props: {
  text: string;
  charactersMax?: number;
  linesMax?: number;
  class?: string;
}) {
  const [isWhole, setWhole] = createSignal(false);
  const cut = createMemo(() =>
    cutText(props.text, {
      charactersMax: props.charactersMax ?? 600,
      linesMax: props.linesMax ?? 12,
    }),
  );
  const isCut = () => cut().hidden > 0 && !isWhole();

  return (
    <div class={props.class}>
      {/* Accents piled up past four would reach out of the box: what is outside is not drawn. */}
      <div class="overflow-hidden whitespace-pre-wrap" dir="auto">
        <VisibleText text={isCut() ? cut().text : props.text} multiline />
        <Show when={isCut()}>
          <span aria-hidden="true">…</span>
        </Show>
      </div>
      <Show when={cut().hidden > 0}>
        <button
          type="button"
          class="mt-2 rounded-md border border-line-strong bg-surface px-3 py-1.5 font-sans text-sm font-medium text-ink hover:bg-sunken"
          aria-expanded={isWhole()}
          onClick={() => setWhole((whole) => !whole)}
        >
          {isWhole()
            ? 'Show less'
            : `Show all ${cut().total.toLocaleString('en')} characters (${cut().hidden.toLocaleString('en')} more)`}
        </button>
      </Show>
    </div>
  );
}
