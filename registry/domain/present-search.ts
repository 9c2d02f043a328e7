import type { SearchRow } from '#contracts/http/search';
import type { TemplateReference } from '#contracts/call';
import { platformKey } from '#contracts/platform';
import type { Principal } from '#contracts/vocabulary';
import { readinessOf } from './credentials.ts';
import type { ExistingCredentials } from './credentials.ts';
import { needsRule } from './read-allowance.ts';
import type { Hit, SearchSource } from './search-rank.ts';
import type { Service } from './service.ts';

interface Found extends SearchSource {
  readonly template: TemplateReference;
  readonly connected: {
    readonly service: Pick<Service, 'secrets' | 'connection' | 'autoAllowReads'>;
    readonly name: string;
  } | null;
}

interface Seen {
  readonly caller: Principal;
  readonly existing: ExistingCredentials;
}

export function presentAction(
  { source, action, score }: Hit<Found>,
  { caller, existing }: Seen,
): SearchRow {
  const { service, autoAllowReads, ...common } = commonOf(source, existing);
  const { key, summary, method, risk } = action;
  const asked = { method, risk, templateTier: source.template.tier, autoAllowReads };
  return {
    service,
    template: common.template,
    action: key,
    description: summary,
    risk,
    score: Math.round(score * 1_000) / 1_000,
    requires_approval: common.template !== platformKey && needsRule(caller, asked),
    auth: common.auth,
  };
}

/** A row of the list of services. */
export function presentSource(source: Found, { caller, existing }: Seen): SearchRow {
  const { service, template, auth } = commonOf(source, existing);
  const { title, description } = source.index;
  return {
    service,
    template,
    action: null,
    description: description === '' ? title : description,
    risk: null,
    score: 1,
    requires_approval: caller.kind !== 'user',
    auth,
  };
}

function commonOf({ template, connected, index }: Found, existing: ExistingCredentials) {
  const isReady = connected !== null && readinessOf(connected.service, existing) === 'ready';
  return {
    service: connected?.name ?? null,
    template: template.key,
    // What connecting a service chooses unless told otherwise.
    autoAllowReads: connected?.service.autoAllowReads ?? true,
    auth: { type: connected ? authTypeOf(connected.service) : index.authType, connected: isReady },
  };
}

/** What a connected service authenticates with, of the ways that its template has. */
function authTypeOf({
  secrets,
  connection,
}: Pick<Service, 'secrets' | 'connection'>): SearchRow['auth']['type'] {
  if (connection !== null) return 'oauth2';
  return Object.keys(secrets).length > 0 ? 'secret' : 'none';
}
