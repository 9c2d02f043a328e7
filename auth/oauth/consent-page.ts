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
  approvals: 'See and decide the approvals of the agents below it.',
  agents: 'Make agents below it, and ask you for secrets and connections.',
};

export function consentPage(view: ConsentView): string {
  const client = escapeHtml(view.client.name);
  const userName = escapeHtml(view.caller.chain[0]?.name ?? '');
  const canAllow = view.isAsUser || view.agents.length > 0 || view.suggestedName !== null;
  return page(
    view.isAsUser ? `Sign ${view.client.name} in as you?` : `Let ${view.client.name} act for you?`,
    `${view.problem === null ? '' : `<p class="bad" role="alert">${escapeHtml(view.problem)}</p>`}
      <p>You are signed in as <b>${userName}</b>. ${client} is a name the application gave itself; the answer goes to <b>${escapeHtml(describeRedirectTarget(view.redirectUri))}</b>.</p>
      ${permissions(view)}
      <form method="post" action="${paths.consent}?id=${encodeURIComponent(view.id)}">
        <input type="hidden" name="token" value="${view.formToken}">
        ${view.isAsUser ? '' : chooser(view)}
        ${canAllow ? '<button type="submit" name="decision" value="allow">Allow</button>' : ''}
        <button class="second" type="submit" name="decision" value="cancel" formnovalidate>Cancel</button>
      </form>`,
  );
}

function permissions({ request, isAsUser }: ConsentView): string {
  if (isAsUser) {
    return `<p>It will be able to do everything you can do here, also allow what your agents ask for. Go on only if you have just run <code>action-gateway login</code> yourself.</p>`;
  }
  const scopes = request.scopes.includes('mcp')
    ? (['actions:call', 'approvals', 'agents'] as const)
    : request.scopes.filter((scope) => scope !== 'mcp' && scope !== 'user');
  const items = scopes.map((scope) => `<li>${scopeSentences[scope]}</li>`).join('');
  return `<p>It will be able to:</p><ul>${items}</ul>`;
}

function chooser({ agents, suggestedName }: ConsentView): string {
  const isFirst = agents.length === 0;
  if (isFirst && suggestedName === null) {
    return '<p>As an auditor you read everything and change nothing, so you cannot make an agent for it. Ask an admin for another role.</p>';
  }
  const choices = agents.map(
    ({ id, name }) =>
      `<label class="choice"><input type="radio" name="agent" value="${id}" required> ${escapeHtml(name)}</label>`,
  );
  const another =
    suggestedName === null
      ? ''
      : `<label class="choice"><input type="radio" name="agent" value="new" required checked> A new agent</label>
        <label for="name">Name of the new agent</label>
        <input id="name" name="name" value="${escapeHtml(suggestedName)}" maxlength="63" autocomplete="off" spellcheck="false">`;
  return `<fieldset><legend>As which agent?</legend>${choices.join('')}${another}</fieldset>`;
}
