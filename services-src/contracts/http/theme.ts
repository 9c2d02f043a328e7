/** The themes that a person can choose instead of that of the system. */
export const chosenThemes = ['light', 'dark'] as const;
export type ChosenTheme = (typeof chosenThemes)[number];

/**
 * The cookie in which a browser keeps the chosen theme. The dashboard writes it, the gateway reads
 * it for its own pages, and `dashboard/public/theme.js` reads it before the dashboard is drawn.
 */
export const themeCookieName = 'gateway_theme';

/** Finds the chosen theme in the cookies of a request or a document; null without one. */
export function findChosenTheme(cookies: string | undefined): ChosenTheme | null {
  for (const cookie of (cookies ?? '').split(';')) {
    const [name, value] = cookie.trim().split('=', 2);
    if (name === themeCookieName) return chosenThemes.find((theme) => theme === value) ?? null;
  }
  return null;
}
