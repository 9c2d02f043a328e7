import { splitProps } from 'solid-js';
import type { JSX } from 'solid-js';

const looks = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover',
  danger: 'bg-high text-on-high hover:bg-high-hover',
  plain: 'border border-line-strong bg-surface text-ink hover:bg-sunken',
  quiet: 'text-ink-soft hover:bg-sunken hover:text-ink',
} as const;

type Look = { look?: keyof typeof looks };

/** Large enough for a thumb. */
const shape =
  'inline-flex min-h-11 items-center justify-center gap-2 rounded-lg px-4 py-2 text-center leading-tight font-semibold transition-colors disabled:opacity-60';

export function Button(props: JSX.ButtonHTMLAttributes<HTMLButtonElement> & Look) {
  const [own, rest] = splitProps(props, ['look', 'class', 'children']);
  return (
    <button
      type="button"
      {...rest}
      class={`${shape} ${looks[own.look ?? 'plain']} ${own.class ?? ''}`}
    >
      {own.children}
    </button>
  );
}

/** Leads to a page of the gateway that is not the dashboard's. */
export function ButtonLink(props: JSX.AnchorHTMLAttributes<HTMLAnchorElement> & Look) {
  const [own, rest] = splitProps(props, ['look', 'class', 'children']);
  return (
    <a rel="external" {...rest} class={`${shape} ${looks[own.look ?? 'plain']} ${own.class ?? ''}`}>
      {own.children}
    </a>
  );
}
