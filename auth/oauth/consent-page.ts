import type { Scope } from '#contracts/vocabulary';
import { escapeHtml, page } from '#pages';
import { describeRedirectTarget } from '../domain/redirect-uri.ts';
import type { OwnAgent } from '../repository/oauth-agents.ts';
import type { Waiting } from './consent.ts';
import { paths } from './paths.ts';

export interface ConsentView extends Waiting {
  readonly agents: readonly OwnAgent[];
  /** Null for somebody who may not make agents. */
  readonly suggestedName: string | null;
  /** It asks to act as the person, not as an agent. */
  readonly isAsUser: boolean;
  /** What was wrong with what the person sent. */
  readonly problem: string | null;
}

/** What each scope lets an agent do, said to somebody who has never heard of scopes. */
const scopeSentences: Readonly<Record<Exclude<Scope, 'mcp' | 'user'>, string>> = {
  'actions:call':
    'Use your connected services. What you have not allowed yet waits for your approval.',
  'actions:read': 'Look things up in your connected services.',
  approvals: 'Approve what agents it makes ask for, as far as it may do the same itself.',
  agents: 'Make agents of its own, and keys for them.',
};

export function consentPage(view: ConsentView): string {
  const { client, isAsUser, agents, suggestedName } = view;
  const isPossible = isAsUser || agents.length > 0 || suggestedName !== null;
  return page(
    isAsUser ? `Sign ${client.name} in as you?` : `Let ${client.name} act for you?`,
    `${view.problem === null ? '' : `<p class="bad" role="alert">${escapeHtml(view.problem)}</p>`}
      ${facts(view)}
      ${isPossible ? permissions(view) : cannot}
      <form method="post" action="${paths.consent}?id=${encodeURIComponent(view.id)}">
        <input type="hidden" name="token" value="${view.formToken}">
        ${isAsUser || !isPossible ? '' : chooser(view)}
        ${isPossible ? '<button type="submit" name="decision" value="allow">Allow</button>' : ''}
        <button class="second" type="submit" name="decision" value="cancel" formnovalidate>Cancel</button>
      </form>
      <p class="quiet last">${isPossible ? 'Allow this only if you have just started it yourself. ' : ''}Not you? Cancel, and sign out in the dashboard first.</p>`,
  );
}

/** Anybody may call a client anything: where the answer goes is what a person can rely on. */
function facts({ client, caller, redirectUri }: ConsentView): string {
  const own = client.kind === 'seeded' ? '' : ' <span class="quiet">(as it calls itself)</span>';
  return `<dl class="facts">
        <dt>Application</dt><dd>${escapeHtml(client.name)}${own}</dd>
        <dt>Access goes to</dt><dd><b>${escapeHtml(describeRedirectTarget(redirectUri))}</b></dd>
        <dt>You are</dt><dd>${escapeHtml(caller.chain[0]?.name ?? '')}</dd>
      </dl>`;
}

const cannot =
  '<p>As an auditor you read everything and change nothing, so you cannot make an agent for it. Ask an admin of your org to connect it, or for another role.</p>';

function permissions({ request, isAsUser }: ConsentView): string {
  if (isAsUser) {
    return '<p>It will be able to do <b>everything you can do here</b>, also approve what your agents ask for. You started it if you have just run <code>action-gateway login</code>.</p>';
  }
  const scopes = request.scopes.includes('mcp')
    ? (['actions:call', 'approvals', 'agents'] as const)
    : request.scopes.filter((scope) => scope !== 'mcp' && scope !== 'user');
  const items = scopes.map((scope) => `<li>${scopeSentences[scope]}</li>`).join('');
  return `<p class="lead">It will be able to:</p><ul>${items}</ul>`;
}

function chooser({ agents, suggestedName }: ConsentView): string {
  const name = `<label for="name">Name of its agent</label>
          <input id="name" name="name" value="${escapeHtml(suggestedName ?? '')}" maxlength="63" autocomplete="off" autocapitalize="none" spellcheck="false">`;
  if (agents.length === 0) {
    return `<input type="hidden" name="agent" value="new">
        <p class="lead">It acts as an agent of yours. You will see this name in approvals and in the log.</p>
        ${name}`;
  }
  const choice = (value: string, label: string, isChecked: boolean) =>
    `<label class="choice"><input type="radio" name="agent" value="${value}" required${isChecked ? ' checked' : ''}> ${escapeHtml(label)}</label>`;
  const existing = agents.map(({ id, name: label }) => choice(id, label, false)).join('');
  const another = suggestedName === null ? '' : choice('new', 'A new agent', true);
  return `<fieldset>
          <legend>As which agent of yours?</legend>
          <div class="choices">${another}${existing}</div>
          ${suggestedName === null ? '' : `<div class="if-new">${name}</div>`}
        </fieldset>`;
}
