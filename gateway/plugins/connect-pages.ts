import type { Connection } from '#contracts/http/connections';
import type { IdentityReference } from '#contracts/vocabulary';
import { escapeHtml, page } from '#pages';
import { withQuery } from './sign-in-pages.ts';

interface GateView {
  readonly flowId: string;
  readonly connection: Connection;
  readonly providerTitle: string;
  readonly providerOrigin: string;
  readonly scopes: readonly string[];
  readonly hosts: readonly string[];
  readonly askedBy: IdentityReference;
  /** Who looks at the page. */
  readonly person: { readonly id: string; readonly name: string };
}

/** What a person reads before going to a provider: nothing has happened yet, and nothing does without the button. */
export function gatePage(view: GateView): string {
  const { connection, providerTitle: title, scopes, hosts } = view;
  const isRepair = connection.status !== 'pending';
  const host = new URL(view.providerOrigin).host;
  return page(
    isRepair ? `Connect ${title} again?` : `Connect ${title}?`,
    `<p>${sentence(view)} ${signInThere(view)}</p>
      <dl class="facts">
        <dt>Asked by</dt><dd>${escapeHtml(asker(view))}</dd>
        <dt>Kept as</dt><dd>${escapeHtml(connection.name)}</dd>
        <dt>You go to</dt><dd><b>${escapeHtml(host)}</b></dd>
      </dl>
      ${list('It asks for', scopes, 'What the app may do is set at the provider; you will see it there.')}
      ${list('The access is only ever sent to', hosts, 'The host that the provider names for your account.')}
      <form method="post" action="/connect/${encodeURIComponent(view.flowId)}">
        <button type="submit">Continue to ${escapeHtml(title)}</button>
      </form>
      <p class="quiet last">You are ${escapeHtml(view.person.name)}. Continue only if you expected this; otherwise close the page, and nothing happens.</p>`,
  );
}

function sentence(view: GateView): string {
  const { connection, providerTitle } = view;
  const title = escapeHtml(providerTitle);
  const account =
    connection.tier === 'org'
      ? `an account at ${title} for <b>everybody in your org</b>`
      : `your account at ${title}`;
  if (connection.status === 'needs_reauth') {
    return `The access to ${account} has ended, and nothing can use it until it is connected again.`;
  }
  return asker(view) === 'You'
    ? `You are about to connect ${account}.`
    : `${escapeHtml(asker(view))} wants to use ${account}.`;
}

/** Another account than before would be refused at the end. */
function signInThere({ connection }: GateView): string {
  const { account_label: account } = connection;
  return account === null
    ? 'You will sign in there and can still say no.'
    : `Sign in there as <b>${escapeHtml(account)}</b>; you can still say no.`;
}

function asker({ askedBy, person }: GateView): string {
  if (askedBy.kind === 'user') return askedBy.id === person.id ? 'You' : askedBy.name;
  return `Your ${askedBy.kind} ${askedBy.path.slice(1).join(' / ') || askedBy.name}`;
}

function list(title: string, items: readonly string[], otherwise: string): string {
  if (items.length === 0) return `<p class="lead">${title}:</p><p>${otherwise}</p>`;
  // Scopes that are addresses break where a reader would break them.
  const rows = items
    .map((item) => `<li><code>${escapeHtml(item).replaceAll('/', '/<wbr>')}</code></li>`)
    .join('');
  const shown = `<ul>${rows}</ul>`;
  return items.length <= 8
    ? `<p class="lead">${title}:</p>${shown}`
    : `<div class="lead"><details><summary>${title} (${items.length})</summary>${shown}</details></div>`;
}

export function connectedPage({
  connection,
  providerTitle,
  missingScopes,
}: {
  connection: Connection;
  providerTitle: string;
  missingScopes: readonly string[];
}): string {
  const account =
    connection.account_label === null ? '' : ` as <b>${escapeHtml(connection.account_label)}</b>`;
  const missing =
    missingScopes.length === 0
      ? ''
      : `<p>Not granted: ${missingScopes.map((each) => `<code>${escapeHtml(each)}</code>`).join(', ')}. Calls that need ${missingScopes.length === 1 ? 'it' : 'them'} will say so.</p>`;
  return page(
    `${providerTitle} is connected`,
    `<p>Connection <b>${escapeHtml(connection.name)}</b> is ready${account}. You can close this page and go back to where you came from.</p>
      ${missing}
      <a class="button second" href="/">Open the gateway</a>`,
  );
}

/** What went wrong, said to somebody who wants to know what to do now. */
export function connectRefusalPage({
  title,
  message,
  againPath,
}: {
  title: string;
  message: string;
  /** Where the same can be tried again; null when there is no way on from here. */
  againPath: string | null;
}): string {
  const again =
    againPath === null
      ? '<a class="button second" href="/">Open the gateway</a>'
      : `<a class="button" href="${escapeHtml(againPath)}">Try again</a>`;
  return page(
    title,
    `<p role="alert">${escapeHtml(message)}</p>
      ${again}
      <p class="quiet last">Nothing was connected. If somebody sent you here, tell them what this page says.</p>`,
  );
}

export function signInFirst(path: string): string {
  return withQuery('/sign-in', { return_to: path });
}
