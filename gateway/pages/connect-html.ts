import type { AccountValue } from '#contracts/account-value';
import type { Connection } from '#contracts/http/connections';
import type { IdentityReference } from '#contracts/vocabulary';
import { createPage, escapeHtml } from '#pages';
import type { Page } from '#pages';
import { withQuery } from './sign-in-html.ts';

interface GateView {
  /** Where the form is sent: the page's own address. */
  readonly formAction: string;
  readonly connection: Connection;
  readonly providerTitle: string;
  readonly providerOrigin: string;
  readonly scopes: readonly string[];
  readonly hosts: readonly string[];
  readonly askedBy: IdentityReference;
  /** The person who sees the page. */
  readonly person: { readonly id: string; readonly name: string };
}

/**
 * Renders the page on which a person confirms before going to a provider. Nothing happens until the
 * button is pressed.
 */
export function renderGatePage(view: GateView): Page {
  const { connection, providerTitle: title, scopes, hosts } = view;
  const isRepair = connection.status !== 'pending';
  const host = new URL(view.providerOrigin).host;
  return createPage(
    isRepair ? `Connect ${title} again?` : `Connect ${title}?`,
    `<p>${describeConnecting(view)} ${describeSignIn(view)}</p>
      <dl class="facts">
        <dt>Asked by</dt><dd>${escapeHtml(askerWords(view))}</dd>
        <dt>Kept as</dt><dd>${escapeHtml(connection.name)}</dd>
        <dt>You sign in at</dt><dd><b>${escapeHtml(host)}</b></dd>
      </dl>
      ${renderList('It asks for', scopes, 'What the app may do is set at the provider; you will see it there.')}
      ${renderList('The access is only ever sent to', hosts, 'The host that the provider names for your account.')}
      <form method="post" action="${escapeHtml(view.formAction)}">
        <button type="submit">Continue to ${escapeHtml(title)}</button>
      </form>
      <p class="quiet last">You are ${escapeHtml(view.person.name)}. Continue only if you expected this; otherwise close the page, and nothing happens.</p>`,
  );
}

function describeConnecting(view: GateView): string {
  const { connection, providerTitle } = view;
  const title = escapeHtml(providerTitle);
  const account =
    connection.tier === 'org'
      ? `an account at ${title} for <b>everybody in your organisation</b>`
      : `your account at ${title}`;
  if (connection.status === 'needs_reauth') {
    return `The access to ${account} has ended, and nothing can use it until it is connected again.`;
  }
  if ((connection.refused_at ?? null) !== null) {
    return `${title} refused the access to ${account}, so calls with it will probably fail until it is connected again.`;
  }
  return askerWords(view) === 'You'
    ? `You are about to connect ${account}.`
    : `${escapeHtml(askerWords(view))} wants to use ${account}.`;
}

/**
 * Names the account to sign in with, because the gateway would refuse a different account at the
 * end.
 */
function describeSignIn({ connection }: GateView): string {
  const { account_label: account } = connection;
  return account === null
    ? 'You will sign in there and can still say no.'
    : `Sign in there as <b>${escapeHtml(account)}</b>; you can still say no.`;
}

function askerWords({ askedBy, person }: GateView): string {
  if (askedBy.kind === 'user') return askedBy.id === person.id ? 'You' : askedBy.name;
  return `Your ${askedBy.kind} ${askedBy.path.slice(1).join(' / ') || askedBy.name}`;
}

function renderList(title: string, items: readonly string[], emptyText: string): string {
  if (items.length === 0) return `<p class="lead">${title}:</p><p>${emptyText}</p>`;
  // A scope that is a URL may be wrapped after a slash.
  const rows = items
    .map((item) => `<li><code>${escapeHtml(item).replaceAll('/', '/<wbr>')}</code></li>`)
    .join('');
  const listHtml = `<ul>${rows}</ul>`;
  return items.length <= 8
    ? `<p class="lead">${title}:</p>${listHtml}`
    : `<div class="lead"><details><summary>${title} (${items.length})</summary>${listHtml}</details></div>`;
}

/** Renders the page on which a person picks what the connection is for. Nothing is connected yet. */
export function choicePage({
  connection,
  providerTitle,
  choices,
  formAction,
  state,
}: {
  connection: Connection;
  providerTitle: string;
  choices: readonly AccountValue[];
  formAction: string;
  state: string;
}): Page {
  const choicesByLabel = Map.groupBy(choices, ({ label }) => toComparable(label));
  const buttons = choices
    .map(({ value, label }) => {
      const isRepeated = (choicesByLabel.get(toComparable(label))?.length ?? 0) > 1;
      const text = isRepeated ? `${label} (${value})` : label;
      return `<button class="second" type="submit" name="value" value="${escapeHtml(value)}">${escapeHtml(text)}</button>`;
    })
    .join('\n        ');
  return createPage(
    `Which one at ${providerTitle}?`,
    `<p>Your account at ${escapeHtml(providerTitle)} opens ${choices.length} of these. The account <b>${escapeHtml(connection.name)}</b> will be for the one that you pick, and for no other.</p>
      <form method="post" action="${escapeHtml(formAction)}">
        <input type="hidden" name="state" value="${escapeHtml(state)}">
        ${buttons}
      </form>
      <p class="quiet last">For another one, connect it under another name afterwards. Nothing is connected until you pick.</p>`,
  );
}

/** Returns the same text for labels that look the same to people. */
function toComparable(label: string): string {
  return label.normalize('NFKC').toLowerCase();
}

export function renderConnectedPage({
  connection,
  providerTitle,
  missingScopes,
  isRepeated = false,
}: {
  connection: Connection;
  providerTitle: string;
  missingScopes: readonly string[];
  /** Whether some of them were also requested and not granted at an earlier time. */
  isRepeated?: boolean | undefined;
}): Page {
  const account =
    connection.account_label === null ? '' : ` as <b>${escapeHtml(connection.account_label)}</b>`;
  const { account_value: accountValue = null } = connection;
  const placeText = accountValue === null ? '' : `, for <b>${escapeHtml(accountValue.label)}</b>`;
  const missingText =
    missingScopes.length === 0
      ? ''
      : `<p>Not granted: ${missingScopes.map((each) => `<code>${escapeHtml(each)}</code>`).join(', ')}. Calls that need ${missingScopes.length === 1 ? 'it' : 'them'} will say so.${isRepeated ? ` ${escapeHtml(providerTitle)} gave the same answer before. If you allowed all of it there, ask an admin to check the app at ${escapeHtml(providerTitle)}: asking you again does not help.` : ''}</p>`;
  return createPage(
    `${providerTitle} is connected`,
    `<p>It is kept as <b>${escapeHtml(connection.name)}</b>${account && `, signed in${account}`}${placeText}. You can close this page and go back to where you came from.</p>
      ${missingText}
      <a class="button second" href="/">Open the gateway</a>`,
  );
}

/** Renders an error for a person, and tells the person what to do next. */
export function renderConnectRefusal({
  title,
  message,
  againPath,
  againLabel,
  isConnected = false,
}: {
  title: string;
  message: string;
  /** The page to go to next, for example to try again; null if there is none. */
  againPath: string | null;
  againLabel: string;
  /** Whether the account was already connected through this link. */
  isConnected?: boolean;
}): Page {
  const retryForm =
    againPath === null
      ? '<a class="button second" href="/">Open the gateway</a>'
      : `<a class="button" href="${escapeHtml(againPath)}">${escapeHtml(againLabel)}</a>`;
  const lastWords = isConnected
    ? ''
    : '<p class="quiet last">Nothing was connected. If somebody sent you here, tell them what this page says.</p>';
  return createPage(
    title,
    `<p role="alert">${escapeHtml(message)}</p>
      ${retryForm}
      ${lastWords}`,
  );
}

export function signInPathOf(path: string): string {
  return withQuery('/sign-in', { return_to: path });
}
