import { createUniqueId, onMount } from 'solid-js';

import { FieldError, describedBy, fieldLook } from '../../ui/field.tsx';

const rowsMax = 10;

/** The field for the hosts to which a secret may be sent, one host on each line. */
export function HostsField(props: {
  hint: string;
  value: string;
  onChange: (value: string) => void;
  isRequired: boolean;
  error: string | undefined;
  /** Whether the field gets the focus at first, because a person has just opened the form. */
  hasFocus?: boolean;
}) {
  const id = createUniqueId();
  return (
    <div>
      <label for={id} class="font-semibold">
        May be sent only to
      </label>
      <p id={`${id}-hint`} class="text-sm text-ink-soft">
        {props.hint}
      </p>
      <textarea
        id={id}
        ref={(element) => onMount(() => props.hasFocus === true && element.focus())}
        aria-describedby={describedBy(id, props)}
        aria-invalid={props.error !== undefined}
        class={`mt-2 font-mono ${fieldLook}`}
        rows={Math.min(rowsMax, Math.max(2, props.value.split('\n').length + 1))}
        required={props.isRequired}
        spellcheck={false}
        autocapitalize="off"
        placeholder="api.example.com"
        value={props.value}
        onInput={(event) => props.onChange(event.currentTarget.value)}
      />
      <FieldError id={`${id}-error`} error={props.error} />
    </div>
  );
}
