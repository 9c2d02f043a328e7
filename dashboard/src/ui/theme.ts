import { createSignal } from 'solid-js';

import { chosenThemes, findChosenTheme, themeCookieName } from '#contracts/http/theme';

export const themes = ['system', ...chosenThemes] as const;
export type Theme = (typeof themes)[number];

/** The longest time for which browsers keep a cookie. Each load of the dashboard renews it. */
const keptSeconds = 400 * 24 * 60 * 60;

/** Informs the other tabs of this browser about a change. */
const channel = new BroadcastChannel('theme');

const [theme, setShownTheme] = createSignal<Theme>(findKeptTheme());
export const chosenTheme = theme;

/** Shows the theme and keeps it in this browser. The gateway's own pages use it too. */
export function chooseTheme(chosen: Theme): void {
  keep(chosen);
  show(chosen);
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a channel only reaches its own origin
  channel.postMessage(chosen);
}

/** Also shows the themes that the person chooses in other tabs. */
export function followThemeOfOtherTabs(): void {
  if (theme() !== 'system') keep(theme());
  channel.addEventListener('message', () => show(findKeptTheme()));
}

function show(shown: Theme): void {
  const { dataset } = document.documentElement;
  if (shown === 'system') delete dataset['theme'];
  else dataset['theme'] = shown;
  setShownTheme(shown);
}

/**
 * Stores the theme in a cookie, because the gateway has to know it when it renders its own pages:
 * they contain no scripts. A browser without cookies has no session either.
 */
function keep(chosen: Theme): void {
  const value = chosen === 'system' ? '; Max-Age=0' : `${chosen}; Max-Age=${keptSeconds}`;
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  document.cookie = `${themeCookieName}=${value}; Path=/; SameSite=Lax${secure}`;
}

function findKeptTheme(): Theme {
  return findChosenTheme(document.cookie) ?? 'system';
}
