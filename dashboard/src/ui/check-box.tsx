import { Show, createUniqueId } from 'solid-js';
import type { JSX } from 'solid-js';

/** A check box with a label, and a hint about its effect. */
export function CheckBox(props: {
  isChecked: boolean;
  onChange: (isChecked: boolean) => void;
  label: JSX.Element;
  hint?: JSX.Element;
  isDisabled?: boolean;
}) {
  const id = createUniqueId();
  return (
    <div class="flex gap-3">
      <input
        id={id}
        type="checkbox"
        class="mt-1 size-5 shrink-0 accent-accent"
        aria-describedby={props.hint === undefined ? undefined : `${id}-hint`}
        checked={props.isChecked}
        disabled={props.isDisabled === true}
        onChange={(event) => props.onChange(event.currentTarget.checked)}
      />
      <div class="min-w-0">
        <label for={id} class="block font-medium wrap-anywhere">
          {props.label}
        </label>
        <Show when={props.hint}>
          <p id={`${id}-hint`} class="text-sm wrap-anywhere text-ink-soft">
            {props.hint}
          </p>
        </Show>
      </div>
    </div>
  );
}
