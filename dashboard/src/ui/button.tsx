import { splitProps } from 'solid-js';
import type { JSX } from 'solid-js';

const looks = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover',
  danger: 'bg-high text-on-high hover:bg-high-hover',
  plain: 'border border-line-strong bg-surface text-ink hover:bg-sunken',
  quiet: 'text-ink-soft hover:bg-sunken hover:text-ink',
} as const;

type ButtonProps = JSX.ButtonHTMLAttributes<HTMLButtonElement> & { look?: keyof typeof looks };

/** Large enough for a thumb. */
export function Button(props: ButtonProps) {
  const [own, rest] = splitProps(props, ['look', 'class', 'children']);
  return (
    <button
      type="button"
      {...rest}
      class={`inline-flex min-h-11 items-center justify-center gap-2 rounded-lg px-4 py-2 text-center leading-tight font-semibold transition-colors disabled:opacity-60 ${looks[own.look ?? 'plain']} ${own.class ?? ''}`}
    >
      {own.children}
    </button>
  );
}
