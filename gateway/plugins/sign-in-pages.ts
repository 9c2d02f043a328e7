import { createHash } from 'node:crypto';

const style = `
  body { margin: 0; min-height: 100vh; display: grid; place-items: center; background: #f5f5f2; color: #1a1c1f; font: 16px/1.5 system-ui, sans-serif; }
  main { box-sizing: border-box; width: min(26rem, 100vw); padding: 2rem; background: #fff; border: 1px solid #e1e1da; border-radius: 12px; }
  h1 { margin: 0 0 .5rem; font-size: 1.25rem; }
  p { margin: 0 0 1.25rem; }
  button { width: 100%; padding: .7rem; border: 0; border-radius: 8px; background: #0b6b50; color: #fff; font: inherit; font-weight: 600; cursor: pointer; }
  button:focus-visible { outline: 3px solid #0b6b50; outline-offset: 2px; }
  code { font-size: .95em; }
  @media (prefers-color-scheme: dark) {
    body { background: #131417; color: #ececea; }
    main { background: #1b1d21; border-color: #33363b; }
    button { background: #4fc79e; color: #06241a; }
  }
`;

/** No script, no frame, nothing from elsewhere; the one style block by its hash. */
export const pageHeaders = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': `default-src 'none'; style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
  // Not no-referrer: that would make the form's Origin "null".
  'referrer-policy': 'strict-origin',
} as const;

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

/** Opening the link changes nothing, so scanners and previews that follow it use nothing up. */
export function confirmPage(token: string): string {
  return page(
    'Sign in to the gateway',
    `<p>This link works once. Continue in the browser you want to use.</p>
      <form method="post" action="/sign-in">
        <input type="hidden" name="token" value="${escapeHtml(token)}">
        <button type="submit">Sign in</button>
      </form>`,
  );
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

function escapeHtml(text: string): string {
  return text.replaceAll(/[&<>"']/g, (character) => entities[character] ?? character);
}
