import type { Connection } from '#contracts/http/connections';
import type { Rule } from '#contracts/http/rules';
import type { Secret } from '#contracts/http/secrets';
import type { ConnectedService } from '#contracts/http/services';
import type { NeededCredential, TemplateDetail } from '#contracts/http/templates';
import type { Tier } from '#contracts/vocabulary';

export type NeededSecret = Extract<NeededCredential, { kind: 'secret' }>;
export type NeededConnection = Extract<NeededCredential, { kind: 'connection' }>;

/** One way to connect a service. It consists of all credentials that are needed together. */
export interface ConnectionWay {
  readonly secrets: readonly NeededSecret[];
  readonly account: NeededConnection | null;
  /**
   * The address of a service that is connected in this way. Set only if it differs from the
   * template's first address.
   */
  readonly address?: Address;
}

/**
 * The address of a service: its base URL, the variables for which a person enters values, and its
 * known hosts.
 */
export type Address = Pick<TemplateDetail, 'base_url' | 'variables' | 'hosts'> & {
  readonly is_of_account?: boolean | undefined;
};

/**
 * Whether the account does not tell where the service is, because it was connected without the
 * template.
 */
export function isUnbound(
  { account_value: value = null }: Connection,
  { is_of_account: isOfAccount }: Address,
): boolean {
  return isOfAccount === true && value === null;
}

/** The ways to connect a template. A template that needs no credentials has one empty way. */
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
 * The index of the way that the form preselects: the first way that a person can use at once,
 * otherwise a way that an admin has to prepare first. Secrets with several parts are meant for
 * programs, and few people have them. So such a way is preselected only if there is no other.
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

/** The label of the field for a variable: `Workspace ID` for `workspace_id`. */
export function variableLabel(name: string): string {
  const words = name
    .replaceAll(/[_-]+/g, ' ')
    .trim()
    .replaceAll(/\b(?:id|url|api)\b/gi, (word) => word.toUpperCase());
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** The name that people use for the credential, as the label of its field. */
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

/**
 * The reference by which agents call a service: `github`, or `org/github` for a service of the org.
 */
export const referenceOf = (name: string, tier: Tier): string =>
  tier === 'org' ? `org/${name}` : name;

/**
 * The allow rules that would apply to a new service of this name. A rule that was remembered from
 * an approval is bound to the service of that approval, so it applies to no other service.
 */
export function rulesOnName(rules: readonly Rule[], reference: string): Rule[] {
  return rules.filter(
    ({ effect, service_id: serviceId, pattern }) =>
      effect === 'allow' && serviceId === null && pattern.split(':', 1)[0] === reference,
  );
}

/**
 * Whether agents that call this name would reach the new service instead of a service of the org.
 */
export function hidesOrgService(
  services: readonly Pick<ConnectedService, 'name' | 'tier'>[],
  { name, tier }: { name: string; tier: Tier },
): boolean {
  return tier === 'user' && namesIn(services, 'org').includes(name);
}

/** The first free name among `github`, `github_2` and so on. */
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
 * The name that the form suggests. If existing rules contain the requested name, or if it would
 * hide a service of the org, another name is suggested.
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

/** The names that are already taken in this tier. */
export function namesIn(
  namedItems: readonly { readonly name: string; readonly tier: Tier }[],
  tier: Tier,
): string[] {
  // A service of the org is listed as `org/github`.
  return namedItems
    .filter((each) => each.tier === tier)
    .map(({ name }) => name.split('/').at(-1) ?? name);
}

/**
 * The stored secrets that fit: those with the name that the template suggests, and those that may
 * already be sent to the hosts of the service.
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
  // A scheme that needs several parts cannot use a plain value, and only the name of a secret shows
  // that it has the parts.
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
 * The hosts that the secret is sent to: those of the service, and the host that issues tokens for
 * the secret.
 */
export function hostsOfSecret(
  { token_hosts: tokenHosts = [] }: NeededSecret,
  hosts: readonly string[],
): string[] {
  return [...new Set([...hosts, ...tokenHosts])];
}

/** The hosts to which the secret may not be sent yet. */
export function findNewHosts(
  { allowed_hosts: allowed }: Secret,
  hosts: readonly string[],
): string[] {
  return hosts.filter((host) => !allowed.includes(host));
}

/** The connected accounts at the provider. Accounts that work come first. */
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
 * Whether calls with the account will probably succeed. If the provider refused the account, or its
 * access has ended, it has to be connected again first.
 */
export const isUsable = ({ status, refused_at: refusedAt = null }: Connection): boolean =>
  status === 'active' && refusedAt === null;

/** Whether the provider refused the current version of the secret. */
export const isRefused = ({ refused_at: refusedAt = null }: Secret): boolean => refusedAt !== null;

/**
 * The scopes that the account lacks. A scope is not missing if another granted scope implies it.
 */
export function findMissingScopes(connection: Connection, scopes: readonly string[]): string[] {
  const { granted_scopes: granted, implied_scopes: implied = [] } = connection;
  return scopes.filter((scope) => !granted.includes(scope) && !implied.includes(scope));
}

/**
 * The preselected scopes: those that the request names, otherwise those for the requested actions,
 * otherwise those for reading.
 */
export function preselectScopes(
  account: NeededConnection,
  asked: { readonly scopes: readonly string[]; readonly actions: readonly string[] },
): readonly string[] {
  if (asked.scopes.length > 0) return asked.scopes;
  const needed = asked.actions.flatMap((action) => account.scopes_of_actions?.[action] ?? []);
  return needed.length > 0 ? [...new Set(needed)] : (account.presets?.read_only ?? account.scopes);
}

/** The values that the person entered for the variables of the address. */
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
 * The summary of an action, with `…` in place of values that only a call has: `List issues of …`.
 */
export function shortenSummary(summary: string): string {
  return summary
    .replaceAll(/\[[^\][]*\]/g, '')
    .replaceAll(/\{[^{}]*\}/g, '…')
    .trim();
}
