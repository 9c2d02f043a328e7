import { escapeHtml, page } from '#pages';

export interface SignInForm {
  readonly returnTo: string | null;
  readonly org: string | null;
  readonly email: string;
}

interface SignInPage extends SignInForm {
  readonly providers: readonly { readonly key: string; readonly name: string }[];
  readonly problem: string | null;
}

/** Providers first: who has one needs no password here. */
export function signInPage({ returnTo, org, email, providers, problem }: SignInPage): string {
  // Links, not forms: browsers apply form-action to every redirect after a form, and a provider
  // sends people on to addresses that nobody here knows.
  const buttons = providers.map(({ key, name }) => {
    const href = linkTo(`/sign-in/with/${encodeURIComponent(key)}`, { org, return_to: returnTo });
    return `<a class="button second" href="${href}">Continue with ${escapeHtml(name)}</a>`;
  });
  const divider = providers.length === 0 ? '' : '<p class="or quiet">or with a password</p>';
  // After a mistake the password is what has to be typed again. Beside providers nothing is
  // focused: on a phone the keyboard would cover them.
  const emailFocus = email === '' && providers.length === 0 ? ' autofocus' : '';
  const passwordFocus = email === '' ? '' : ' autofocus';
  return page(
    'Sign in',
    `<p class="quiet">Agent Action Gateway</p>
      ${problem === null ? '' : `<p class="bad" role="alert">${escapeHtml(problem)}</p>`}
      ${buttons.join('\n      ')}
      ${divider}
      <form method="post" action="/sign-in">
        ${hidden('return_to', returnTo)}${hidden('org', org)}
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

/** Where there are several orgs, only their own people know their names. */
export function orgPage(returnTo: string | null): string {
  return page(
    'Sign in',
    `<p>Several organisations use this gateway. Which one is yours?</p>
      <form method="get" action="/sign-in">
        ${hidden('return_to', returnTo)}<input type="hidden" name="again" value="1">
        <label for="org">Name of the organisation</label>
        <input id="org" name="org" autocomplete="organization" required maxlength="200" autofocus>
        <button type="submit">Continue</button>
      </form>`,
  );
}

/** Opening the link changes nothing, so scanners and previews that follow it use nothing up. */
export function confirmPage(token: string, returnTo: string | null): string {
  return page(
    'Sign in to the gateway',
    `<p>This link works once. Continue in the browser you want to use.</p>
      <form method="post" action="/sign-in">
        <input type="hidden" name="token" value="${escapeHtml(token)}">
        ${hidden('return_to', returnTo)}
        <button type="submit">Sign in</button>
      </form>`,
  );
}

export function signedInPage({
  name,
  returnTo,
}: {
  name: string;
  returnTo: string | null;
}): string {
  return page(
    'You are signed in',
    `<p>As <strong>${escapeHtml(name)}</strong>.</p>
      <a class="button" href="${escapeHtml(returnTo ?? '/')}">Continue</a>
      <a class="button second" href="${linkTo('/sign-in/password', { return_to: returnTo })}">Set a password</a>
      <a class="button second" href="${linkTo('/sign-in', { again: '1', return_to: returnTo })}">Sign in as somebody else</a>`,
  );
}

interface PasswordPage {
  readonly returnTo: string | null;
  /** Null when the person has to give one. */
  readonly email: string | null;
  readonly typedEmail: string;
  readonly needsCurrent: boolean;
  readonly problem: string | null;
}

export function passwordPage({
  returnTo,
  email,
  typedEmail,
  needsCurrent,
  problem,
}: PasswordPage): string {
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
  return page(
    needsCurrent ? 'Change your password' : 'Choose a password',
    `<p>${needsCurrent ? 'You will be signed out everywhere else.' : 'With it you can sign in next time without a link.'}</p>
      ${problem === null ? '' : `<p class="bad" role="alert">${escapeHtml(problem)}</p>`}
      <form method="post" action="/sign-in/password">
        ${hidden('return_to', returnTo)}
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

/** What went wrong, and the way on. */
export function refusalPage(title: string, message: string, returnTo: string | null): string {
  return page(
    title,
    `<p>${escapeHtml(message)}</p>
      <a class="button" href="${linkTo('/sign-in', { return_to: returnTo })}">Back to sign-in</a>`,
  );
}

function hidden(name: string, value: string | null): string {
  return value === null ? '' : `<input type="hidden" name="${name}" value="${escapeHtml(value)}">`;
}

/** As an attribute's value. */
function linkTo(...address: Parameters<typeof withQuery>): string {
  return escapeHtml(withQuery(...address));
}

/** An address of ours with what is not null of a query. */
export function withQuery(path: string, query: Readonly<Record<string, string | null>>): string {
  const given = Object.entries(query).filter((each): each is [string, string] => each[1] !== null);
  return given.length === 0 ? path : `${path}?${new URLSearchParams(given).toString()}`;
}
