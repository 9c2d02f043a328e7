import { createSignal } from 'solid-js';

import { chosenThemes, findChosenTheme, themeCookieName } from '#contracts/http/theme';

export const themes = ['system', ...chosenThemes] as const;
export type Theme = (typeof themes)[number];

/** Browsers keep no cookie for longer; each load of the dashboard renews it. */
const keptSeconds = 400 * 24 * 60 * 60;

/** Tells the other tabs of this browser. */
const channel = new BroadcastChannel('theme');

const [theme, setShownTheme] = createSignal<Theme>(findKeptTheme());
export const chosenTheme = theme;

/** Shows the theme and keeps it in this browser, also for the pages of the gateway itself. */
export function chooseTheme(chosen: Theme): void {
  keep(chosen);
  show(chosen);
  // eslint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches its own origin alone
  channel.postMessage(chosen);
}

/** Takes over the themes that are chosen in other tabs. */
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
 * A cookie, because the gateway has to know the theme before it renders a page: its pages hold no
 * script. A browser that keeps no cookies keeps no session either.
 */
function keep(chosen: Theme): void {
  const value = chosen === 'system' ? '; Max-Age=0' : `${chosen}; Max-Age=${keptSeconds}`;
  const secure = location.protocol === 'https:' ? '; Secure' : '';
  document.cookie = `${themeCookieName}=${value}; Path=/; SameSite=Lax${secure}`;
}

function findKeptTheme(): Theme {
  return findChosenTheme(document.cookie) ?? 'system';
}
