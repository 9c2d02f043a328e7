import type { JSX } from 'solid-js';

/** One titled part of the approval card. */
export function Section(props: {
  title: string;
  /** Whether a phone leaves the title out, because the labels below say enough. */
  isTitleSpared?: boolean;
  children: JSX.Element;
}) {
  return (
    <section class="px-4 py-3 sm:px-6 sm:py-5">
      <h2
        class="mb-2 text-sm font-semibold text-ink-soft"
        classList={{ 'max-sm:sr-only': props.isTitleSpared === true }}
      >
        {props.title}
      </h2>
      {props.children}
    </section>
  );
}

/** A label and its value. On a phone the value is below the label, unless both are short. */
export function Field(props: {
  label: JSX.Element;
  isShort?: boolean;
  isDisclosed?: boolean;
  children: JSX.Element;
}) {
  return (
    <div
      data-disclosed={props.isDisclosed === true ? '' : undefined}
      class="grid gap-x-4 gap-y-0.5 sm:grid-cols-[8.5rem_minmax(0,1fr)]"
      classList={{ 'max-sm:grid-cols-[6rem_minmax(0,1fr)]': props.isShort === true }}
    >
      <dt class="text-sm text-ink-soft sm:pt-0.5">{props.label}</dt>
      <dd class="min-w-0">{props.children}</dd>
    </div>
  );
}

export function Absent(props: { children: JSX.Element }) {
  return <span class="text-ink-soft italic">{props.children}</span>;
}
