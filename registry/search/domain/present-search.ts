import type { SearchRow } from '#contracts/http/search';
import type { TemplateReference } from '#contracts/call';
import { platformKey } from '#contracts/platform';
import type { Principal } from '#contracts/vocabulary';
import { reasonOffAt } from '../../templates/domain/enabled-actions.ts';
import { readinessOf } from '../../services/domain/credentials.ts';
import type { ExistingCredentials } from '../../services/domain/credentials.ts';
import { needsRule } from './read-allowance.ts';
import type { SearchSource } from './search-index.ts';
import type { SearchHit } from './search-rank.ts';
import type { Service } from '../../services/domain/service.ts';

interface FoundSource extends SearchSource {
  readonly template: TemplateReference;
  readonly connected: {
    readonly service: Pick<Service, 'secrets' | 'connection' | 'autoAllowReads' | 'baseUrl'>;
    readonly name: string;
  } | null;
}

interface SearchViewer {
  readonly caller: Principal;
  readonly existing: ExistingCredentials;
}

export function presentAction(
  { source, action, score }: SearchHit<FoundSource>,
  { caller, existing }: SearchViewer,
): SearchRow {
  const { service, autoAllowReads, ...common } = commonFieldsOf(source, existing);
  const { key, summary, method, risk } = action;
  const { connected, index } = source;
  const off = connected ? reasonOffAt(index, action, connected.service.baseUrl) : undefined;
  const allowanceInput = { method, risk, templateTier: source.template.tier, autoAllowReads };
  return {
    service,
    template: common.template,
    action: key,
    description: summary,
    risk,
    score: Math.round(score * 1_000) / 1_000,
    requires_approval: common.template !== platformKey && needsRule(caller, allowanceInput),
    ...(off === undefined ? {} : { disabled: off }),
    auth: common.auth,
  };
}

/** The search result for a service when no single action was searched for. */
export function presentSource(source: FoundSource, { caller, existing }: SearchViewer): SearchRow {
  const { service, template, auth } = commonFieldsOf(source, existing);
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

function commonFieldsOf(
  { template, connected, index }: FoundSource,
  existingCredentials: ExistingCredentials,
) {
  const isReady =
    connected !== null && readinessOf(connected.service, existingCredentials) === 'ready';
  return {
    service: connected?.name ?? null,
    template: template.key,
    // A new service allows reads by default, so a template that is not connected yet shows true.
    autoAllowReads: connected?.service.autoAllowReads ?? true,
    auth: { type: connected ? authTypeOf(connected.service) : index.authType, connected: isReady },
  };
}

/** The authentication type that a connected service uses, of those that its template offers. */
function authTypeOf({
  secrets,
  connection,
}: Pick<Service, 'secrets' | 'connection'>): SearchRow['auth']['type'] {
  if (connection !== null) return 'oauth2';
  return Object.keys(secrets).length > 0 ? 'secret' : 'none';
}
