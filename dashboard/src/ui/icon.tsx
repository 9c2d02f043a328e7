import type { JSX } from 'solid-js';
import { Dynamic } from 'solid-js/web';

/** The icons: lines on a 20 × 20 grid, in the colour of the text beside them. */
const iconShapes = {
  alert: () => (
    <>
      <path d="M10 3 1.9 17h16.2L10 3Z" />
      <path d="M10 8.5v3.7M10 14.6v.1" />
    </>
  ),
  back: () => <path d="m12 4-6 6 6 6" />,
  bot: () => (
    <>
      <rect x="3.5" y="7" width="13" height="9.5" rx="2.5" />
      <path d="M10 3.5V7M7.3 11v1.5M12.7 11v1.5M1.8 10.8v2.5M18.2 10.8v2.5" />
    </>
  ),
  check: () => <path d="m4 10.5 4 4 8-9" />,
  chevron: () => <path d="m6 8 4 4 4-4" />,
  clock: () => (
    <>
      <circle cx="10" cy="10" r="7.2" />
      <path d="M10 5.8V10l2.8 1.8" />
    </>
  ),
  cross: () => <path d="m5 5 10 10M15 5 5 15" />,
  eye: () => (
    <>
      <path d="M1.8 10S4.8 4.6 10 4.6 18.2 10 18.2 10 15.2 15.4 10 15.4 1.8 10 1.8 10Z" />
      <circle cx="10" cy="10" r="2.4" />
    </>
  ),
  home: () => <path d="M2.8 9.2 10 3l7.2 6.2M4.8 7.8V17h3.7v-5h3v5h3.7V7.8" />,
  key: () => (
    <>
      <circle cx="6.5" cy="13.5" r="3.5" />
      <path d="M9 11 16.5 3.5M13 7l2.5 2.5" />
    </>
  ),
  keyboard: () => (
    <>
      <rect x="1.8" y="5" width="16.4" height="10" rx="2" />
      <path d="M5 8.2h.1M8.3 8.2h.1M11.6 8.2h.1M14.9 8.2h.1M6.5 11.8h7" />
    </>
  ),
  list: () => <path d="M7 5h10M7 10h10M7 15h10M3.2 5h.1M3.2 10h.1M3.2 15h.1" />,
  more: () => <path d="M4.5 10h.1M10 10h.1M15.5 10h.1" stroke-width="2.6" />,
  pause: () => <path d="M7 4.5v11M13 4.5v11" />,
  pencil: () => <path d="m12.6 4.2 3.2 3.2-8.6 8.6-4 .8.8-4 8.6-8.6Z" />,
  play: () => <path d="M6.5 4v12l9-6-9-6Z" />,
  plug: () => (
    <>
      <path d="M7 2.5v4M13 2.5v4M4.5 6.5h11v3a5.5 5.5 0 0 1-11 0v-3Z" />
      <path d="M10 15v2.8" />
    </>
  ),
  repeat: () => (
    <>
      <path d="M3.5 9V8a3 3 0 0 1 3-3h9.3M13 2l3 3-3 3" />
      <path d="M16.5 11v1a3 3 0 0 1-3 3H4.2M7 18l-3-3 3-3" />
    </>
  ),
  trash: () => (
    <path d="M3.5 5.5h13M8 5.3V3.2h4v2.1M5.2 5.5l.7 11.3h8.2l.7-11.3M8.3 9v4.5M11.7 9v4.5" />
  ),
  settings: () => (
    <>
      <path d="M3 6h8M15 6h2M3 14h2M9 14h8" />
      <circle cx="13" cy="6" r="2" />
      <circle cx="7" cy="14" r="2" />
    </>
  ),
  user: () => (
    <>
      <circle cx="10" cy="6.8" r="3.3" />
      <path d="M3.6 16.8c.7-3.2 3.2-4.8 6.4-4.8s5.7 1.6 6.4 4.8" />
    </>
  ),
  users: () => (
    <>
      <circle cx="7.3" cy="7" r="2.9" />
      <path d="M1.8 16.5c.6-2.9 2.8-4.3 5.5-4.3s4.9 1.4 5.5 4.3" />
      <path d="M12.6 4.4a2.9 2.9 0 0 1 0 5.3M14.6 12.6c1.9.5 3.2 1.8 3.6 3.9" />
    </>
  ),
  webhook: () => <path d="M3 10h10M9.5 6.5 13 10l-3.5 3.5M16.5 4v12" />,
} satisfies Record<string, () => JSX.Element>;

export type IconName = keyof typeof iconShapes;

/** Icons are hidden from screen readers, because the words beside them have the same meaning. */
export function Icon(props: { name: IconName; class?: string }) {
  return (
    <svg
      class={props.class ?? 'size-5 shrink-0'}
      viewBox="0 0 20 20"
      fill="none"
      stroke="currentColor"
      stroke-width="1.7"
      stroke-linecap="round"
      stroke-linejoin="round"
      aria-hidden="true"
    >
      <Dynamic component={iconShapes[props.name]} />
    </svg>
  );
}

export function Logo() {
  return (
    <svg class="size-8 shrink-0" viewBox="0 0 32 32" aria-hidden="true" fill="none">
      <rect class="fill-accent" width="32" height="32" rx="8" />
      <path
        class="stroke-on-accent"
        d="M9 24V12a7 7 0 0 1 14 0v12"
        stroke-width="3"
        stroke-linecap="round"
      />
      <path
        class="stroke-on-accent"
        d="m12.5 18.5 2.7 2.7 4.6-5.2"
        stroke-width="2.6"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
  );
}

export function Spinner() {
  return (
    <svg class="size-5 shrink-0 animate-spin" viewBox="0 0 20 20" aria-hidden="true" fill="none">
      <circle class="stroke-line" cx="10" cy="10" r="7.5" stroke-width="2.5" />
      <path
        class="stroke-accent"
        d="M10 2.5a7.5 7.5 0 0 1 7.5 7.5"
        stroke-width="2.5"
        stroke-linecap="round"
      />
    </svg>
  );
}
