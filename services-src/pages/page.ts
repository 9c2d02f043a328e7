import { createHash } from 'node:crypto';

import { findChosenTheme } from '#contracts/http/theme';

/** A page that is shown outside the dashboard. */
export interface Page {
  readonly title: string;
  /** HTML. */
  readonly content: string;
  /** Whether the page is a text to read, with tables and code, and so is wider than a form. */
  readonly isDocument?: boolean;
}

/**
 * The dashboard's colours, header and shapes, repeated here because these pages must work without
 * its build. `light-dark()` takes the theme that the page's `color-scheme` names.
 */
const style = `
  :root {
    --back: light-dark(#f5f5f2, #131417);
    --card: light-dark(#fff, #1b1d21);
    --line: light-dark(#e1e1da, #31343b);
    --field: light-dark(#85867d, #7b808b);
    --text: light-dark(#1a1c1f, #ecedef);
    --quiet: light-dark(#575a61, #a9adb6);
    --main: light-dark(#0b6b50, #4fc79e);
    --main-hover: light-dark(#095842, #6bd6b1);
    --main-soft: light-dark(#e3f1eb, #17352b);
    --on-main: light-dark(#fff, #06241a);
    --bad: light-dark(#b3261e, #ff9c92);
    --bad-soft: light-dark(#fce8e6, #44191a);
    --focus: light-dark(#1f5fd0, #8ab4ff);
  }
  * { box-sizing: border-box; }
  body { margin: 0; min-height: 100vh; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif; -webkit-font-smoothing: antialiased; }
  header { border-bottom: 1px solid var(--line); background: var(--card); }
  header a { display: inline-flex; align-items: center; gap: .75rem; height: 3.5rem; margin: 0 .75rem; color: inherit; font-weight: 600; text-decoration: none; }
  header svg { width: 2rem; height: 2rem; fill: none; stroke: var(--on-main); stroke-linecap: round; stroke-linejoin: round; }
  header rect { fill: var(--main); stroke: none; }
  main { width: min(28rem, 100% - 2rem); margin: clamp(1rem, 8vh, 6rem) auto 2rem; padding: 1.5rem; background: var(--card); border: 1px solid var(--line); border-radius: 16px; box-shadow: 0 1px 2px rgb(0 0 0 / .06); overflow-wrap: anywhere; }
  @media (min-width: 40rem) { header a { margin: 0 1.5rem; } main { padding: 2rem; } }
  h1 { margin: 0 0 .75rem; font-size: 1.5rem; font-weight: 600; line-height: 1.25; }
  p, ul, dl, fieldset { margin: 0 0 1.25rem; min-width: 0; }
  ul { padding-left: 1.2rem; }
  dt, .quiet { color: var(--quiet); font-size: .9rem; }
  dd { margin: 0 0 .6rem; }
  form { margin: 0 0 1rem; }
  label { display: block; margin-bottom: .3rem; font-weight: 600; }
  fieldset { padding: 0; border: 0; }
  legend { padding: 0; margin-bottom: .5rem; font-weight: 600; }
  .lead { margin-bottom: .5rem; }
  .last { margin: 0; }
  .facts { display: grid; margin-top: .9rem; grid-template-columns: auto 1fr; gap: .2rem .9rem; padding: .8rem 0; border: solid var(--line); border-width: 1px 0; }
  .facts dd { margin: 0; }
  .choices { display: grid; gap: .4rem; max-height: 17rem; margin: 0 -3px .9rem; padding: 3px; overflow-y: auto; }
  fieldset:has([value=new]:not(:checked)) .if-new { display: none; }
  [type=radio] { accent-color: var(--main); margin: 0; }
  .choice { margin: 0; display: flex; gap: .6rem; align-items: center; padding: .6rem .7rem; border: 1px solid var(--field); border-radius: 8px; font-weight: 400; }
  .choice:has(:checked) { border-color: var(--main); background: var(--main-soft); }
  input:not([type=radio]):not([type=hidden]) { width: 100%; margin-bottom: 1rem; padding: .6rem .7rem; border: 1px solid var(--field); border-radius: 8px; background: var(--card); color: inherit; font: inherit; }
  button, .button { display: block; width: 100%; min-height: 2.75rem; margin-bottom: .6rem; padding: .55rem 1rem; border: 1px solid var(--main); border-radius: 8px; background: var(--main); color: var(--on-main); font: inherit; font-weight: 600; text-align: center; text-decoration: none; cursor: pointer; }
  button:hover, .button:hover { background: var(--main-hover); border-color: var(--main-hover); }
  .second, .second:hover { background: transparent; border-color: var(--field); color: inherit; }
  .second:hover { background: var(--back); }
  .bad { padding: .75rem 1rem; border-left: 4px solid var(--bad); border-radius: 8px; background: var(--bad-soft); font-weight: 500; }
  :focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
  .or { margin: .75rem 0 1rem; text-align: center; }
  details > :not(summary) { margin-top: .6rem; }
  summary { color: var(--quiet); font-size: .9rem; cursor: pointer; }
  input[readonly]:not([type=radio]):not([type=hidden]) { color: var(--quiet); background: var(--back); border-color: var(--line); }
  code { font-size: .95em; }
  b, strong, dd { unicode-bidi: isolate; }
  p a, .document a { color: var(--main); }
  .document { width: min(60rem, 100% - 2rem); margin-top: 1rem; }
  .document h2 { margin: 2.25rem 0 .75rem; padding-top: 1.25rem; border-top: 1px solid var(--line); font-size: 1.2rem; line-height: 1.3; }
  .document h3 { margin: 1.5rem 0 .5rem; font-size: 1.05rem; }
  .document nav { display: flex; flex-wrap: wrap; gap: .25rem 1.25rem; margin-bottom: 1rem; font-size: .9rem; }
  .document code, .document pre { background: var(--back); border-radius: 6px; font-family: ui-monospace, monospace; font-size: .875rem; }
  .document code { padding: .1rem .3rem; }
  .document pre { margin: 0 0 1.25rem; padding: .8rem 1rem; border: 1px solid var(--line); overflow-x: auto; overflow-wrap: normal; }
  .document pre code { padding: 0; }
  .document details { margin-bottom: 1.25rem; }
  .scroll { margin: 0 0 1.25rem; overflow-x: auto; }
  table { width: 100%; border-collapse: collapse; font-size: .925rem; }
  th, td { padding: .45rem .75rem .45rem 0; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; min-width: 6rem; overflow-wrap: break-word; }
  td:last-child { min-width: 14rem; }
  blockquote { margin: 0 0 1.25rem; color: var(--quiet); }
`;
const styleHash = createHash('sha256').update(style).digest('base64');

interface AnswerOptions {
  /** The cookies of the request. One of them contains the theme that the person chose. */
  readonly cookies: string | undefined;
  /**
   * Further servers to which the page's form may lead, because browsers apply form-action to
   * redirects after a form as well.
   */
  readonly formTargets?: readonly string[];
}

/**
 * Builds the answer that shows a page. It allows no script, no frame and nothing from other
 * servers, and the page's one style block by its hash.
 */
export function answerWithPage(
  page: Page,
  { cookies, formTargets = [] }: AnswerOptions,
): { headers: Record<string, string>; html: string } {
  const headers = {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; img-src 'self'; style-src 'sha256-${styleHash}'; form-action ${["'self'", ...formTargets].join(' ')}; base-uri 'none'; frame-ancestors 'none'`,
    // For browsers and scanners that do not support frame-ancestors.
    'x-frame-options': 'DENY',
    'cross-origin-resource-policy': 'same-origin',
    // `no-referrer` is not used, because it would make the Origin header of the form "null".
    'referrer-policy': 'strict-origin',
  };
  return { headers, html: renderPage(page, findChosenTheme(cookies) ?? 'light dark') };
}

const productName = 'Agent Action Gateway';
/** The logo of the dashboard, without ids or styles of its own. */
const logo =
  '<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="8"/><path d="M9 24V12a7 7 0 0 1 14 0v12" stroke-width="3"/><path d="m12.5 18.5 2.7 2.7 4.6-5.2" stroke-width="2.6"/></svg>';

function renderPage({ title, content, isDocument = false }: Page, colorScheme: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <meta name="color-scheme" content="${colorScheme}">
    <title>${escapeHtml(title)} · ${productName}</title>
    <link rel="icon" href="/favicon.svg" type="image/svg+xml">
    <style>${style}</style>
  </head>
  <body>
    <header><a href="/">${logo}${productName}</a></header>
    <main${isDocument ? ' class="document"' : ''}>
      <h1>${escapeHtml(title)}</h1>
      ${content}
    </main>
  </body>
</html>
`;
}

/** `content` is HTML: escape what goes into it. */
export function createPage(title: string, content: string): Page {
  return { title, content };
}

export function createMessagePage(title: string, message: string): Page {
  return createPage(title, `<p>${escapeHtml(message)}</p>`);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** Escapes for text and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
