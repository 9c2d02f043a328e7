import { createPage, escapeHtml } from '#pages';
import type { Page } from '#pages';

export interface SignInForm {
  readonly returnTo: string | null;
  readonly org: string | null;
  readonly email: string;
}

interface SignInView extends SignInForm {
  readonly providers: readonly { readonly key: string; readonly name: string }[];
  readonly problem: string | null;
}

/** Providers come first, because people who use one need no password. */
export function renderSignIn({ returnTo, org, email, providers, problem }: SignInView): Page {
  // Providers are links and not forms: browsers apply form-action to every redirect after a form,
  // and the hosts that a provider redirects to are not known.
  const buttons = providers.map(({ key, name }) => {
    const href = escapedAddressOf(`/sign-in/with/${encodeURIComponent(key)}`, {
      org,
      return_to: returnTo,
    });
    return `<a class="button second" href="${href}">Continue with ${escapeHtml(name)}</a>`;
  });
  const divider = providers.length === 0 ? '' : '<p class="or quiet">or with a password</p>';
  // After a mistake, the password must be typed again, so its field has the focus. On a page with
  // providers no field has the focus, because the keyboard of a phone would cover the providers.
  const emailFocus = email === '' && providers.length === 0 ? ' autofocus' : '';
  const passwordFocus = email === '' ? '' : ' autofocus';
  return createPage(
    'Sign in',
    `${problem === null ? '' : `<p class="bad" role="alert">${escapeHtml(problem)}</p>`}
      ${buttons.join('\n      ')}
      ${divider}
      <form method="post" action="/sign-in">
        ${renderHiddenInput('return_to', returnTo)}${renderHiddenInput('org', org)}
        <label for="email">E-mail address</label>
        <input id="email" name="email" type="email" autocomplete="username" required maxlength="320" value="${escapeHtml(email)}"${emailFocus}>
        <label for="password">Password</label>
        <input id="password" name="password" type="password" autocomplete="current-password" required maxlength="800"${passwordFocus}>
        <button type="submit">Sign in</button>
      </form>
      <details>
        <summary>No password, or forgotten?</summary>
        <p class="quiet">Ask an admin of your gateway for a sign-in link and open it in this browser. If there is no admin with a password yet, the gateway prints a link in its terminal when it starts.</p>
        ${returnTo === null ? '' : `<a class="button second" href="${escapeHtml(returnTo)}">I have opened my link, continue</a>`}
      </details>`,
  );
}

/** Asks the person for the name of the org, because a list would reveal the orgs to anyone. */
export function renderOrgPage(returnTo: string | null): Page {
  return createPage(
    'Sign in',
    `<p>Several organisations use this gateway. Which one is yours?</p>
      <form method="get" action="/sign-in">
        ${renderHiddenInput('return_to', returnTo)}<input type="hidden" name="again" value="1">
        <label for="org">Name of the organisation</label>
        <input id="org" name="org" autocomplete="organization" required maxlength="200" autofocus>
        <button type="submit">Continue</button>
      </form>`,
  );
}

/**
 * Renders the page that a one-time link opens. Opening it changes nothing, so that link scanners
 * and previews do not use the link up.
 */
export function renderConfirmPage(token: string, returnTo: string | null): Page {
  return createPage(
    'Sign in to the gateway',
    `<p>This link works once. Continue in the browser you want to use.</p>
      <form method="post" action="/sign-in">
        <input type="hidden" name="token" value="${escapeHtml(token)}">
        ${renderHiddenInput('return_to', returnTo)}
        <button type="submit">Sign in</button>
      </form>`,
  );
}

export function renderSignedIn({
  name,
  returnTo,
}: {
  name: string;
  returnTo: string | null;
}): Page {
  return createPage(
    'You are signed in',
    `<p>As <strong>${escapeHtml(name)}</strong>.</p>
      <a class="button" href="${escapeHtml(returnTo ?? '/')}">Continue</a>
      <a class="button second" href="${escapedAddressOf('/sign-in/password', { return_to: returnTo })}">Set a password</a>
      <a class="button second" href="${escapedAddressOf('/sign-in', { again: '1', return_to: returnTo })}">Sign in as somebody else</a>`,
  );
}

interface PasswordView {
  readonly returnTo: string | null;
  /** The known e-mail address; null if the person must enter one. */
  readonly email: string | null;
  readonly typedEmail: string;
  readonly needsCurrent: boolean;
  readonly problem: string | null;
}

export function renderPasswordPage({
  returnTo,
  email,
  typedEmail,
  needsCurrent,
  problem,
}: PasswordView): Page {
  const emailField =
    email === null
      ? `<label for="email">E-mail address</label>
        <input id="email" name="email" type="email" autocomplete="username" required maxlength="254" value="${escapeHtml(typedEmail)}">`
      : `<label for="email">E-mail address</label>
        <input id="email" type="email" autocomplete="username" readonly value="${escapeHtml(email)}">`;
  const currentField = needsCurrent
    ? `<label for="current">Current password</label>
        <input id="current" name="current" type="password" autocomplete="current-password" required maxlength="800">`
    : '';
  return createPage(
    needsCurrent ? 'Change your password' : 'Choose a password',
    `<p>${needsCurrent ? 'You will be signed out everywhere else.' : 'With it you can sign in next time without a link.'}</p>
      ${problem === null ? '' : `<p class="bad" role="alert">${escapeHtml(problem)}</p>`}
      <form method="post" action="/sign-in/password">
        ${renderHiddenInput('return_to', returnTo)}
        ${emailField}
        ${currentField}
        <label for="password">New password</label>
        <input id="password" name="password" type="password" autocomplete="new-password" required minlength="12" maxlength="800" aria-describedby="rule">
        <p class="quiet" id="rule">At least 12 characters. A few words you remember are fine.</p>
        <button type="submit">Save password</button>
        <a class="button second" href="${escapeHtml(returnTo ?? '/')}">Not now</a>
      </form>`,
  );
}

/** Renders an error with a link back to sign-in. */
export function renderRefusal(title: string, message: string, returnTo: string | null): Page {
  return createPage(
    title,
    `<p>${escapeHtml(message)}</p>
      <a class="button" href="${escapedAddressOf('/sign-in', { return_to: returnTo })}">Back to sign-in</a>`,
  );
}

function renderHiddenInput(name: string, value: string | null): string {
  return value === null ? '' : `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;
}

/** Builds an address with a query, and escapes it for use in an attribute. */
function escapedAddressOf(...address: Parameters<typeof withQuery>): string {
  return escapeHtml(withQuery(...address));
}

/** Adds the query parameters that are not null to a path. */
export function withQuery(path: string, query: Readonly<Record<string, string | null>>): string {
  const givenEntries = Object.entries(query).filter(
    (each): each is [string, string] => each[1] !== null,
  );
  return givenEntries.length === 0
    ? path
    : `${path}?${new URLSearchParams(givenEntries).toString()}`;
}
