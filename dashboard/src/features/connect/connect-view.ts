import type { Connection } from '#contracts/http/connections';
import type { Rule } from '#contracts/http/rules';
import type { Secret } from '#contracts/http/secrets';
import type { ConnectedService } from '#contracts/http/services';
import type { NeededCredential, TemplateDetail } from '#contracts/http/templates';
import type { Tier } from '#contracts/vocabulary';

export type NeededSecret = Extract<NeededCredential, { kind: 'secret' }>;
export type NeededConnection = Extract<NeededCredential, { kind: 'connection' }>;

/** One way to connect a service: all the credentials that it needs. */
export interface ConnectionWay {
  readonly secrets: readonly NeededSecret[];
  readonly account: NeededConnection | null;
  /** The address of a service that is connected in this way, where it is not the template's first. */
  readonly address?: Address;
}

/** Where a service is, with the variables that a person gives, and its known hosts. */
export type Address = Pick<TemplateDetail, 'base_url' | 'variables' | 'hosts'> & {
  readonly is_of_account?: boolean | undefined;
};

/** Whether the account does not say yet where the service is, because it was connected without the template. */
export function isUnbound(
  { account_value: value = null }: Connection,
  { is_of_account: isOfAccount }: Address,
): boolean {
  return isOfAccount === true && value === null;
}

/**
 * The ways to connect a template. A template that needs no credentials has one way, which is empty.
 */
export function waysOf({
  ways = [],
  addresses = [],
}: Pick<TemplateDetail, 'ways' | 'addresses'>): ConnectionWay[] {
  if (ways.length === 0) return [{ secrets: [], account: null }];
  return ways.map((needed, at) => ({
    secrets: needed.filter((each) => each.kind === 'secret'),
    account: needed.find((each) => each.kind === 'connection') ?? null,
    ...(addresses[at] === undefined ? {} : { address: addresses[at] }),
  }));
}

/**
 * The index of the way that the form preselects: the first one that a person can use at once,
 * otherwise one that an admin has to prepare. Secrets of several parts are meant for programs, and
 * few people have one, so such a way is preselected only if there is no other.
 */
export function findFirstWayIndex(
  ways: readonly ConnectionWay[],
  isReady: (way: ConnectionWay) => boolean,
): number {
  const isPersonal = ({ secrets }: ConnectionWay) =>
    secrets.every(({ parts }) => parts === undefined);
  const readyWayIndex = ways.findIndex((way) => isPersonal(way) && isReady(way));
  return readyWayIndex === -1 ? Math.max(0, ways.findIndex(isPersonal)) : readyWayIndex;
}

/** The name of a variable as the label of its field: `workspace_id` is `Workspace ID`. */
export function variableLabel(name: string): string {
  const words = name
    .replaceAll(/[_-]+/g, ' ')
    .trim()
    .replaceAll(/\b(?:id|url|api)\b/gi, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** What a person calls the credential that the field takes. */
export function secretLabel({ label, encoding, sent_as: sentAs, parts }: NeededSecret): string {
  if (label !== undefined) return label;
  if (parts !== undefined) {
    const labels = parts.filter(({ optional }) => !optional).map(({ label }) => label);
    return new Intl.ListFormat('en-GB').format(labels);
  }
  if (encoding === 'basic') return 'User name and password, as name:password';
  if (sentAs.startsWith('Authorization:')) return 'Access token';
  return `API key (${sentAs.split(':')[0]})`;
}

export function wayLabel({ secrets, account }: ConnectionWay, providerTitle: string): string {
  const labels = [...(account === null ? [] : [account]), ...secrets].map(({ label }) => label);
  if (labels.length > 0 && labels.every((label) => label !== undefined))
    return labels.join(' and ');
  if (account !== null && secrets.length === 0) return `An account at ${providerTitle}`;
  const keys = secrets.map(secretLabel);
  const words = keys.length === 1 ? (keys[0] ?? '') : `${keys.length} keys`;
  if (account !== null) return `An account at ${providerTitle} and ${words.toLowerCase()}`;
  return keys.length === 0 ? 'No credential is needed' : words;
}

/** The reference by which agents call a service: `github`, or `org/github` for the org's. */
export const referenceOf = (name: string, tier: Tier): string =>
  tier === 'org' ? `org/${name}` : name;

/**
 * The rules that would apply to a new service of this name. A rule that was remembered from an
 * approval is bound to the service of that approval, so it applies to no other service.
 */
export function rulesOnName(rules: readonly Rule[], reference: string): Rule[] {
  return rules.filter(
    ({ effect, service_id: serviceId, pattern }) =>
      effect === 'allow' && serviceId === null && pattern.split(':', 1)[0] === reference,
  );
}

/** Whether agents that call this name would reach the new service instead of the org's. */
export function hidesOrgService(
  services: readonly Pick<ConnectedService, 'name' | 'tier'>[],
  { name, tier }: { name: string; tier: Tier },
): boolean {
  return tier === 'user' && namesIn(services, 'org').includes(name);
}

/** The first free name: `github`, then `github_2`. */
export function findFreeName(wanted: string, taken: readonly string[]): string {
  const names = new Set(taken);
  let candidate = wanted;
  for (let count = 2; names.has(candidate); count += 1) {
    const suffix = `_${count}`;
    candidate = wanted.slice(0, nameMax - suffix.length) + suffix;
  }
  return candidate;
}

const nameMax = 63;

/**
 * The name that the form suggests. The name that an agent requested is not suggested when existing
 * rules name it, or when it would hide a service of the org.
 */
export function firstNameOf(
  wanted: string,
  {
    services,
    rules,
    tier,
  }: {
    services: readonly Pick<ConnectedService, 'name' | 'tier'>[];
    rules: readonly Rule[];
    tier: Tier;
  },
): string {
  const hasRules = rulesOnName(rules, referenceOf(wanted, tier)).length > 0;
  return findFreeName(wanted, [
    ...namesIn(services, tier),
    ...namesIn(services, 'org'),
    ...(hasRules ? [wanted] : []),
  ]);
}

/** The names that are already taken in that tier. */
export function namesIn(
  things: readonly { readonly name: string; readonly tier: Tier }[],
  tier: Tier,
): string[] {
  // A service of the org is listed as `org/github`.
  return things
    .filter((each) => each.tier === tier)
    .map(({ name }) => name.split('/').at(-1) ?? name);
}

/**
 * The stored secrets that fit: those with the name that the template suggests, and those that may
 * already go to the hosts of the service.
 */
export function findFittingSecrets(
  secrets: readonly Secret[],
  {
    needed,
    hosts,
    tier,
    chosen = null,
  }: {
    needed: NeededSecret;
    hosts: readonly string[];
    tier: Tier;
    /** The name of the secret that the person chose or has just stored. */
    chosen?: string | null;
  },
): Secret[] {
  const hasFittingName = ({ name }: Secret) =>
    name === needed.default_secret_name || name === chosen;
  // A secret of several parts cannot be used for a scheme that takes a plain value.
  const mayGoToHosts = ({ allowed_hosts: allowed }: Secret) =>
    needed.parts === undefined && hosts.length > 0 && hosts.every((host) => allowed.includes(host));
  return secrets
    .filter((each) => each.tier === tier)
    .filter((each) => hasFittingName(each) || mayGoToHosts(each))
    .toSorted(
      (left, right) =>
        Number(isRefused(left)) - Number(isRefused(right)) ||
        Number(hasFittingName(right)) - Number(hasFittingName(left)),
    );
}

/**
 * The hosts that the secret is sent to: those of the service, and the one that issues its tokens.
 */
export function hostsOfSecret(
  { token_hosts: tokenHosts = [] }: NeededSecret,
  hosts: readonly string[],
): string[] {
  return [...new Set([...hosts, ...tokenHosts])];
}

/** The hosts to which the secret could not be sent before. */
export function findNewHosts(
  { allowed_hosts: allowed }: Secret,
  hosts: readonly string[],
): string[] {
  return hosts.filter((host) => !allowed.includes(host));
}

/** The connected accounts at the provider, those that work first. */
export function findFittingConnections(
  connections: readonly Connection[],
  { account, tier }: { account: NeededConnection | null; tier: Tier },
): Connection[] {
  const kind = account?.acts_as ?? 'user';
  return connections
    .filter((each) => each.provider === account?.provider && each.tier === tier)
    .filter((each) => (each.acts_as ?? 'user') === kind)
    .filter(({ status }) => status === 'active' || status === 'needs_reauth')
    .toSorted((left, right) => Number(isUsable(right)) - Number(isUsable(left)));
}

/**
 * Whether calls with the account will probably succeed. An account whose access the provider refused
 * is connected again first, like one whose access has ended.
 */
export const isUsable = ({ status, refused_at: refusedAt = null }: Connection): boolean =>
  status === 'active' && refusedAt === null;

/** Whether the provider refused the current version of the secret. */
export const isRefused = ({ refused_at: refusedAt = null }: Secret): boolean => refusedAt !== null;

/**
 * The scopes that the account has granted neither directly nor by another scope that implies them.
 */
export function findMissingScopes(connection: Connection, scopes: readonly string[]): string[] {
  const { granted_scopes: granted, implied_scopes: implied = [] } = connection;
  return scopes.filter((scope) => !granted.includes(scope) && !implied.includes(scope));
}

/**
 * The preselected scopes: those that the request names, otherwise those that the requested actions
 * need, otherwise those that reads need.
 */
export function preselectScopes(
  account: NeededConnection,
  asked: { readonly scopes: readonly string[]; readonly actions: readonly string[] },
): readonly string[] {
  if (asked.scopes.length > 0) return asked.scopes;
  const needed = asked.actions.flatMap((action) => account.scopes_of_actions?.[action] ?? []);
  return needed.length > 0 ? [...new Set(needed)] : (account.presets?.read_only ?? account.scopes);
}

/** The values that the person gave for the variables of the address. */
export function givenValues(
  { variables }: Pick<Address, 'variables'>,
  values: Readonly<Record<string, string>>,
): Record<string, string> {
  const names = variables.map(({ name }) => name).filter((name) => (values[name] ?? '') !== '');
  return Object.fromEntries(names.map((name) => [name, values[name] ?? '']));
}

/** The hosts of the service, as far as they are known before it is connected. */
export function hostsOf(
  { base_url: baseUrl, hosts }: Pick<Address, 'base_url' | 'hosts'>,
  givenParts: { readonly variables: Readonly<Record<string, string>>; readonly baseUrl: string },
): string[] {
  if (givenParts.baseUrl !== '') return hostIn(givenParts.baseUrl);
  if (baseUrl === undefined) return [...hosts];
  const filledUrl = baseUrl.replaceAll(
    /\{([^{}]+)\}/g,
    (placeholder, name: string) => givenParts.variables[name] || placeholder,
  );
  const isFilled = !filledUrl.includes('{') && !filledUrl.includes('://.');
  return [...new Set([...(isFilled ? hostIn(filledUrl) : []), ...hosts])];
}

function hostIn(url: string): string[] {
  const host = URL.parse(url)?.host;
  return host === undefined || host === '' ? [] : [host];
}

/**
 * The summary of an action with `…` in place of the values that only a call has: `List issues of
 * …`.
 */
export function shortenSummary(summary: string): string {
  return summary
    .replaceAll(/\[[^\][]*\]/g, '')
    .replaceAll(/\{[^{}]*\}/g, '…')
    .trim();
}
