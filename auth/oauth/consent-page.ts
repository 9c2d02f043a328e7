import type { Scope } from '#contracts/vocabulary';
import { createPage, escapeHtml } from '#pages';
import type { Page } from '#pages';
import { describeRedirectTarget } from '#contracts/redirect-uri';
import type { OwnAgent } from './oauth-agents.sql.ts';
import type { WaitingAuthorization } from './waiting-authorization.ts';
import { oauthPaths } from './paths.ts';

export interface ConsentView extends WaitingAuthorization {
  readonly agents: readonly OwnAgent[];
  /** The name that the form suggests for a new agent; null when the user may not create agents. */
  readonly suggestedName: string | null;
  /** Whether the client asks to act as the user itself instead of an agent. */
  readonly isAsUser: boolean;
  /**
   * The error of the form that the user has just sent; null when the form is shown for the first
   * time.
   */
  readonly problem: string | null;
}

const titleNameCharactersMax = 40;

/** Explains each scope to a person who does not know what a scope is. */
const scopeSentences: Readonly<Record<Exclude<Scope, 'mcp' | 'user'>, string>> = {
  'actions:call':
    'Use your connected services. What you have not allowed yet waits for your approval.',
  'actions:read': 'Look things up in your connected services.',
  approvals: 'Approve what agents it makes ask for, as far as it may do the same itself.',
  agents: 'Make agents of its own, and keys for them.',
};

export function renderConsentPage(view: ConsentView): Page {
  const { client, isAsUser, agents, suggestedName } = view;
  const isAllowPossible = isAsUser || agents.length > 0 || suggestedName !== null;
  const name = quoteName(client.name);
  return createPage(
    isAsUser ? `Sign ${name} in as you?` : `Let ${name} act for you?`,
    `${view.problem === null ? '' : `<p class="bad" role="alert">${escapeHtml(view.problem)}</p>`}
      ${renderClientDetails(view)}
      ${isAllowPossible ? renderPermissionList(view) : auditorNotice}
      <form method="post" action="${oauthPaths.consent}?id=${encodeURIComponent(view.id)}">
        <input type="hidden" name="token" value="${view.formToken}">
        ${isAsUser || !isAllowPossible ? '' : renderAgentChooser(view)}
        ${isAllowPossible ? '<button type="submit" name="decision" value="allow">Allow</button>' : ''}
        <button class="second" type="submit" name="decision" value="cancel" formnovalidate>Cancel</button>
      </form>
      <p class="quiet last">${isAllowPossible ? 'Allow this only if you have just started it yourself. ' : ''}Not you? Cancel, and sign out in the dashboard first.</p>`,
  );
}

/**
 * A client may choose any name, also one that reads like a sentence of this page or from right to
 * left. So the title puts the name in quotes, and shortens a long name.
 */
function quoteName(name: string): string {
  const characters = Array.from(name);
  const shownName =
    characters.length > titleNameCharactersMax
      ? `${characters.slice(0, titleNameCharactersMax).join('').trim()}…`
      : name;
  return `“\u2068${shownName}\u2069”`;
}

/**
 * A client may choose any name. So the page also shows what a client cannot choose freely: the
 * address to which the browser is redirected.
 */
function renderClientDetails({ client, caller, redirectUri }: ConsentView): string {
  const ownNameNote =
    client.kind === 'seeded' ? '' : ' <span class="quiet">(as it calls itself)</span>';
  return `<dl class="facts">
        <dt>Application</dt><dd>${escapeHtml(client.name)}${ownNameNote}</dd>
        <dt>Access goes to</dt><dd><b>${escapeHtml(describeRedirectTarget(redirectUri))}</b></dd>
        <dt>You are</dt><dd>${escapeHtml(caller.chain[0]?.name ?? '')}</dd>
      </dl>`;
}

const auditorNotice =
  '<p>As an auditor you read everything and change nothing, so you cannot make an agent for it. Ask an admin of your org to connect it, or for another role.</p>';

function renderPermissionList({ request, isAsUser }: ConsentView): string {
  if (isAsUser) {
    return '<p>It will be able to do <b>everything you can do here</b>, also approve what your agents ask for. You started it if you have just run <code>action-gateway login</code>.</p>';
  }
  const scopes = request.scopes.includes('mcp')
    ? (['actions:call', 'approvals', 'agents'] as const)
    : request.scopes.filter((scope) => scope !== 'mcp' && scope !== 'user');
  const listItems = scopes.map((scope) => `<li>${scopeSentences[scope]}</li>`).join('');
  return `<p class="lead">It will be able to:</p><ul>${listItems}</ul>`;
}

function renderAgentChooser({ agents, suggestedName }: ConsentView): string {
  const name = `<label for="name">Name of its agent</label>
          <input id="name" name="name" value="${escapeHtml(suggestedName ?? '')}" maxlength="63" autocomplete="off" autocapitalize="none" spellcheck="false">`;
  if (agents.length === 0) {
    return `<input type="hidden" name="agent" value="new">
        <p class="lead">It acts as an agent of yours. You will see this name in approvals and in the log.</p>
        ${name}`;
  }
  const renderAgentChoice = (value: string, label: string, isChecked: boolean) =>
    `<label class="choice"><input type="radio" name="agent" value="${value}" required${isChecked ? ' checked' : ''}> ${escapeHtml(label)}</label>`;
  const agentChoices = agents
    .map(({ id, name: label }) => renderAgentChoice(id, label, false))
    .join('');
  const newAgentChoice =
    suggestedName === null ? '' : renderAgentChoice('new', 'A new agent', true);
  return `<fieldset>
          <legend>As which agent of yours?</legend>
          <div class="choices">${newAgentChoice}${agentChoices}</div>
          ${suggestedName === null ? '' : `<div class="if-new">${name}</div>`}
        </fieldset>`;
}
