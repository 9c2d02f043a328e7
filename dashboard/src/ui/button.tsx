import { createComputed, onCleanup, splitProps } from 'solid-js';
import type { JSX } from 'solid-js';

const buttonStyles = {
  primary: 'bg-accent text-on-accent hover:bg-accent-hover',
  danger: 'bg-high text-on-high hover:bg-high-hover',
  plain: 'border border-line-strong bg-surface text-ink hover:bg-sunken',
  quiet: 'text-ink-soft hover:bg-sunken hover:text-ink',
} as const;

type Look = { look?: keyof typeof buttonStyles };

/** The shape of a button, which is large enough for a thumb. */
const shapeClasses =
  'inline-flex min-h-11 items-center justify-center gap-2 rounded-lg px-4 py-2 text-center leading-tight font-semibold transition-colors disabled:opacity-60';

/**
 * A button. When a button with the focus is disabled during its request, the browser takes the
 * focus away. It gets the focus back afterwards, so that the next key press does not start at the
 * top of the page. When the button disappears, the part of the page around it gets the focus, unless
 * something else has got it.
 */
export function Button(
  props: Omit<JSX.ButtonHTMLAttributes<HTMLButtonElement>, 'ref'> &
    Look & { ref?: (element: HTMLButtonElement) => void },
) {
  const [own, rest] = splitProps(props, ['look', 'class', 'children', 'ref']);
  let button: HTMLButtonElement | undefined;
  let hadFocus = false;
  // Runs before the attribute `disabled` is set, while the button still has the focus.
  createComputed(() => {
    if (rest.disabled === true) {
      hadFocus = button !== undefined && document.activeElement === button;
    } else if (hadFocus) {
      hadFocus = false;
      queueMicrotask(() => {
        if (document.activeElement === document.body) button?.focus({ preventScroll: true });
      });
    }
  });
  onCleanup(() => {
    if (button === undefined || !(hadFocus || document.activeElement === button)) return;
    const parts = partsAround(button);
    requestAnimationFrame(() => {
      const part = parts.find((each) => each.isConnected);
      if (document.activeElement !== document.body || part === undefined) return;
      if (!part.hasAttribute('tabindex')) part.tabIndex = -1;
      part.focus({ preventScroll: true });
    });
  });
  return (
    <button
      type="button"
      {...rest}
      ref={(element) => {
        button = element;
        own.ref?.(element);
      }}
      class={`${shapeClasses} ${buttonStyles[own.look ?? 'plain']} ${own.class ?? ''}`}
    >
      {own.children}
    </button>
  );
}

/** The parts of the page that contain the element, the smallest first. */
function partsAround(element: HTMLElement): HTMLElement[] {
  const part = element.parentElement?.closest<HTMLElement>('article, li, section, main');
  return part === null || part === undefined ? [] : [part, ...partsAround(part)];
}

/** A link that looks like a button and leads to a page of the gateway outside the dashboard. */
export function ButtonLink(props: JSX.AnchorHTMLAttributes<HTMLAnchorElement> & Look) {
  const [own, rest] = splitProps(props, ['look', 'class', 'children']);
  return (
    <a
      rel="external"
      {...rest}
      class={`${shapeClasses} ${buttonStyles[own.look ?? 'plain']} ${own.class ?? ''}`}
    >
      {own.children}
    </a>
  );
}
