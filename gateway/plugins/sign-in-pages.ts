import { escapeHtml, page } from '#pages';

/** Opening the link changes nothing, so scanners and previews that follow it use nothing up. */
export function confirmPage(token: string, returnTo: string | null): string {
  return page(
    'Sign in to the gateway',
    `<p>This link works once. Continue in the browser you want to use.</p>
      <form method="post" action="/sign-in">
        <input type="hidden" name="token" value="${escapeHtml(token)}">
        ${returnToField(returnTo)}
        <button type="submit">Sign in</button>
      </form>`,
  );
}

/** For somebody without a link; what they wanted to do is one press away once they have opened it. */
export function linkNeededPage(returnTo: string | null): string {
  const message =
    'The gateway prints a one-time sign-in link in the terminal when it starts. Open the whole link in this browser, including what follows token=.';
  const goOn =
    returnTo === null
      ? ''
      : `<a class="button" href="${escapeHtml(returnTo)}">I have opened it, continue</a>`;
  return page('Use your sign-in link', `<p>${message}</p>${goOn}`);
}

function returnToField(returnTo: string | null): string {
  if (returnTo === null) return '';
  return `<input type="hidden" name="return_to" value="${escapeHtml(returnTo)}">`;
}
