import { Show, createUniqueId, onMount } from 'solid-js';
import type { JSX } from 'solid-js';

import { VisibleText } from './visible-text.tsx';

/** The look of every element that a person types into. */
export const fieldLook =
  'block w-full min-w-0 rounded-lg border border-line-strong bg-surface px-3 py-2 aria-invalid:border-high';

/** Says below a field what is wrong with it. */
export function FieldError(props: { id: string; error: string | undefined }) {
  return (
    <Show when={props.error}>
      {(error) => (
        <p id={props.id} class="mt-2 text-sm font-medium wrap-anywhere text-high" role="alert">
          <VisibleText text={error()} />
        </p>
      )}
    </Show>
  );
}

/**
 * The ids of the elements that describe a field: its hint, and the text about what is wrong with
 * it.
 */
export function describedBy(
  id: string,
  { hint, error }: { hint?: unknown; error?: string | undefined },
): string | undefined {
  const ids = [
    ...(hint === undefined ? [] : [`${id}-hint`]),
    ...(error === undefined ? [] : [`${id}-error`]),
  ];
  return ids.length === 0 ? undefined : ids.join(' ');
}

/** A text field with its label above it. Between them is a hint about what to enter. */
export function TextField(props: {
  label: JSX.Element;
  hint?: JSX.Element;
  value: string;
  onChange: (value: string) => void;
  isRequired?: boolean;
  isMonospace?: boolean;
  placeholder?: string;
  pattern?: string;
  maxLength?: number;
  type?: 'text' | 'url' | 'password' | 'email';
  /** Whether the field gets the focus at first, because a person has just opened the form. */
  hasFocus?: boolean;
  /** A text about what is wrong with the value. */
  error?: string | undefined;
}) {
  const id = createUniqueId();
  return (
    <div>
      <label for={id} class="font-semibold wrap-anywhere">
        {props.label}
      </label>
      <Show when={props.hint}>
        <p id={`${id}-hint`} class="text-sm wrap-anywhere text-ink-soft">
          {props.hint}
        </p>
      </Show>
      <input
        id={id}
        ref={(element) => onMount(() => props.hasFocus === true && element.focus())}
        aria-describedby={describedBy(id, props)}
        aria-invalid={props.error !== undefined}
        class={`mt-2 ${fieldLook}`}
        classList={{ 'font-mono': props.isMonospace === true }}
        type={props.type ?? 'text'}
        required={props.isRequired === true}
        pattern={props.pattern}
        maxLength={props.maxLength}
        placeholder={props.placeholder}
        autocomplete="off"
        autocapitalize="off"
        spellcheck={false}
        value={props.value}
        onInput={(event) => props.onChange(event.currentTarget.value)}
      />
      <FieldError id={`${id}-error`} error={props.error} />
    </div>
  );
}

/** A field for a secret. A button shows the entered value, so that the person can check it. */
export function SecretField(props: {
  label: JSX.Element;
  hint?: JSX.Element;
  value: string;
  onChange: (value: string) => void;
  isShown: boolean;
  onShow: (isShown: boolean) => void;
  maxLength: number;
  isOptional?: boolean;
  showLabel: string;
  /** Whether the field gets the focus at first, because a person has just opened the form. */
  hasFocus?: boolean;
  /** A text about what is wrong with the value. */
  error?: string | undefined;
}) {
  const id = createUniqueId();
  const hasOuterSpace = () => props.value !== props.value.trim();
  return (
    <div>
      <label for={id} class="font-semibold wrap-anywhere">
        {props.label}
      </label>
      <Show when={props.hint}>
        <p id={`${id}-hint`} class="text-sm wrap-anywhere text-ink-soft">
          {props.hint}
        </p>
      </Show>
      <div class="mt-2 flex gap-2">
        <input
          id={id}
          ref={(element) => onMount(() => props.hasFocus === true && element.focus())}
          aria-describedby={describedBy(id, props)}
          aria-invalid={props.error !== undefined}
          class={`${fieldLook} grow font-mono`}
          type={props.isShown ? 'text' : 'password'}
          required={props.isOptional !== true}
          maxLength={props.maxLength}
          autocomplete="off"
          autocapitalize="off"
          spellcheck={false}
          value={props.value}
          onInput={(event) => props.onChange(event.currentTarget.value)}
        />
        <button
          type="button"
          class="inline-flex min-h-11 items-center rounded-lg border border-line-strong bg-surface px-4 font-semibold hover:bg-sunken"
          aria-pressed={props.isShown}
          aria-label={props.showLabel}
          onClick={() => props.onShow(!props.isShown)}
        >
          {props.isShown ? 'Hide' : 'Show'}
        </button>
      </div>
      <FieldError id={`${id}-error`} error={props.error} />
      <Show when={hasOuterSpace()}>
        <p class="mt-2 text-sm text-medium" role="status">
          It begins or ends with a space, which is kept: check what was pasted.
        </p>
      </Show>
    </div>
  );
}

/** One of several alternatives, as a box. A click anywhere in the box chooses it. */
export function RadioBox(props: {
  name: string;
  isChecked: boolean;
  onChoose: () => void;
  label: JSX.Element;
  hint?: JSX.Element;
}) {
  return (
    <label class="flex cursor-pointer gap-3 rounded-lg border border-line-strong p-3 has-checked:border-accent has-checked:bg-accent-soft">
      <input
        type="radio"
        name={props.name}
        class="mt-1 size-4 shrink-0 accent-accent"
        checked={props.isChecked}
        onChange={() => props.onChoose()}
      />
      <span class="min-w-0">
        <span class="block leading-snug font-medium wrap-anywhere">{props.label}</span>
        <Show when={props.hint}>
          <span class="block text-sm wrap-anywhere text-ink-soft">{props.hint}</span>
        </Show>
      </span>
    </label>
  );
}
