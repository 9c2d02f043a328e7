import { escapeHtml, page } from '#pages';

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
