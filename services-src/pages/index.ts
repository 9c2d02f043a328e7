import { createHash } from 'node:crypto';

/** The dashboard's colours, without its build: these pages must work before anything is loaded. */
const style = `
  :root { --back: #f5f5f2; --card: #fff; --line: #e1e1da; --field: #8a8f98; --text: #1a1c1f; --quiet: #5a5f66; --main: #0b6b50; --on-main: #fff; --bad: #a3261b; }
  * { box-sizing: border-box; }
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; padding: 1rem; background: var(--back); color: var(--text); font: 16px/1.5 system-ui, sans-serif; }
  main { width: min(26rem, 100%); padding: 1.75rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px; overflow-wrap: anywhere; }
  h1 { margin: 0 0 .5rem; font-size: 1.25rem; line-height: 1.3; }
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
  .choice { margin: 0; display: flex; gap: .6rem; align-items: center; padding: .6rem .7rem; border: 1px solid var(--line); border-radius: 8px; font-weight: 400; }
  input:not([type=radio]):not([type=hidden]) { width: 100%; margin-bottom: 1rem; padding: .6rem .7rem; border: 1px solid var(--field); border-radius: 8px; background: var(--card); color: inherit; font: inherit; }
  button, .button { display: block; width: 100%; margin-bottom: .6rem; padding: .7rem; border: 1px solid var(--main); border-radius: 8px; background: var(--main); color: var(--on-main); font: inherit; font-weight: 600; text-align: center; text-decoration: none; cursor: pointer; }
  .second { background: transparent; border-color: var(--field); color: inherit; }
  .bad { color: var(--bad); font-weight: 600; }
  :focus-visible { outline: 3px solid var(--main); outline-offset: 2px; }
  .or { margin: .75rem 0 1rem; text-align: center; }
  details > :not(summary) { margin-top: .6rem; }
  summary { color: var(--quiet); font-size: .9rem; cursor: pointer; }
  input[readonly]:not([type=radio]):not([type=hidden]) { color: var(--quiet); background: var(--back); border-color: var(--line); }
  code { font-size: .95em; }
  @media (prefers-color-scheme: dark) {
    :root { --back: #131417; --card: #1b1d21; --line: #33363b; --field: #7d838c; --text: #ececea; --quiet: #a9aeb5; --main: #4fc79e; --on-main: #06241a; --bad: #ff8f85; }
  }
`;
const styleHash = createHash('sha256').update(style).digest('base64');

/**
 * Headers of a page a person sees before the dashboard: no script, no frame, nothing from
 * elsewhere; the one style block by its hash. `formTargets`: further sources that its form may
 * end at, because browsers apply form-action to where the answer of a form redirects to.
 */
export function pageHeaders(formTargets: readonly string[] = []): Record<string, string> {
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action ${["'self'", ...formTargets].join(' ')}; base-uri 'none'; frame-ancestors 'none'`,
    // For browsers and scanners that do not read frame-ancestors.
    'x-frame-options': 'DENY',
    'cross-origin-resource-policy': 'same-origin',
    // Not no-referrer: that would make the form's Origin "null".
    'referrer-policy': 'strict-origin',
  };
}

/** `content` is HTML: escape what goes into it. */
export function page(title: string, content: string): string {
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta name="robots" content="noindex">
    <title>${escapeHtml(title)}</title>
    <style>${style}</style>
  </head>
  <body>
    <main>
      <h1>${escapeHtml(title)}</h1>
      ${content}
    </main>
  </body>
</html>
`;
}

export function messagePage(title: string, message: string): string {
  return page(title, `<p>${escapeHtml(message)}</p>`);
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

/** For text and for quoted attributes. */
export function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
