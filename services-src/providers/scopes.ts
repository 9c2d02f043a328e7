import type { OauthProvider } from '#contracts/oauth-provider';

type ScopeRow = Pick<OauthProvider, 'scopes' | 'scope_prefix'>;
type ScopeRule = Exclude<NonNullable<OauthProvider['scopes']>, 'opaque'>[string];

/**
 * The scopes that a token was granted, and the scopes that a call needs: any one of several lists.
 */
export interface ScopeNeed {
  readonly granted: readonly string[];
  readonly alternatives: readonly (readonly string[])[];
}

/**
 * The scopes to request so that a call may be made: the smallest addition to the granted scopes. Of
 * several additions of the same size it is the narrowest. Empty when nothing is missing.
 */
export function listMissingScopes(
  provider: ScopeRow | undefined,
  { granted, alternatives }: ScopeNeed,
): string[] {
  if (provider?.scopes === 'opaque') return [];
  const coveredSet = new Set(coveredScopesOf(provider, granted));
  const additions = alternatives.map((neededScopes) =>
    withoutImpliedScopes(
      provider,
      neededScopes.filter((scope) => !coveredSet.has(scope)),
    ),
  );
  const [narrowest = []] = additions.toSorted((left, right) =>
    compareBreadths(breadthOf(provider, left), breadthOf(provider, right)),
  );
  return narrowest;
}

/** The scopes that a token has: the granted ones, and all that these imply. */
export function coveredScopesOf(
  provider: ScopeRow | undefined,
  granted: readonly string[],
): string[] {
  const coveredSet = new Set<string>();
  const visitScope = (scope: string) => {
    if (coveredSet.has(scope)) return;
    coveredSet.add(scope);
    for (const implied of ruleOf(provider, scope)?.implies ?? []) visitScope(implied);
  };
  for (const scope of normaliseScopes(provider, granted)) visitScope(scope);
  return [...coveredSet];
}

/**
 * Replaces the names under which a provider reports scopes by the names with which scopes are
 * requested, if these differ.
 */
export function normaliseScopes(
  provider: ScopeRow | undefined,
  scopes: readonly string[],
): string[] {
  const { scope_prefix: prefix = '' } = provider ?? {};
  const names = reportedNamesOf(provider);
  const normalScopes = scopes.map((scope) => {
    const name = prefix !== '' && scope.startsWith(prefix) ? scope.slice(prefix.length) : scope;
    return names.get(name) ?? name;
  });
  return [...new Set(normalScopes)];
}

/** The scopes, without each scope that another one of them implies. */
export function withoutImpliedScopes(
  provider: ScopeRow | undefined,
  scopes: readonly string[],
): string[] {
  return scopes.filter((scope) =>
    scopes.every(
      (otherScope) =>
        otherScope === scope || !coveredScopesOf(provider, [otherScope]).includes(scope),
    ),
  );
}

/**
 * The kind of actor whose tokens can have the scope; undefined when the provider's row does not
 * say.
 */
export function tokenKindOf(
  provider: ScopeRow | undefined,
  scope: string,
): ScopeRule['acts_as'] | undefined {
  return ruleOf(provider, scope)?.acts_as;
}

/** Whether the provider reviews apps before they may ask for the scope. */
export function isRestrictedScope(provider: ScopeRow | undefined, scope: string): boolean {
  return ruleOf(provider, scope)?.restricted === true;
}

/**
 * Throws when scopes imply each other in a circle, because they could then not be distinguished.
 */
export function checkImplications(provider: ScopeRow & { readonly key: string }): void {
  const { scopes = {} } = provider;
  if (scopes === 'opaque') return;
  for (const [scope, { implies = [] }] of Object.entries(scopes)) {
    if (coveredScopesOf(provider, implies).includes(scope)) {
      throw new Error(`oauth-providers/${provider.key}.yaml: the scope ${scope} implies itself`);
    }
  }
}

/**
 * How broad an addition is: how many scopes it names, how many of them are restricted, and how many
 * scopes it covers.
 */
type Breadth = readonly [count: number, restricted: number, covered: number];

function breadthOf(provider: ScopeRow | undefined, scopes: readonly string[]): Breadth {
  const restricted = scopes.filter((scope) => isRestrictedScope(provider, scope));
  return [scopes.length, restricted.length, coveredScopesOf(provider, scopes).length];
}

function compareBreadths(left: Breadth, right: Breadth): number {
  const at = left.findIndex((part, index) => part !== right[index]);
  return at === -1 ? 0 : (left[at] ?? 0) - (right[at] ?? 0);
}

function ruleOf(provider: ScopeRow | undefined, scope: string): ScopeRule | undefined {
  const scopes = provider?.scopes;
  if (scopes === undefined || scopes === 'opaque') return undefined;
  return Object.hasOwn(scopes, scope) ? scopes[scope] : undefined;
}

const namesByScopes = new WeakMap<object, ReadonlyMap<string, string>>();

function reportedNamesOf(provider: ScopeRow | undefined): ReadonlyMap<string, string> {
  const scopes = provider?.scopes;
  if (scopes === undefined || scopes === 'opaque') return new Map();
  let names = namesByScopes.get(scopes);
  if (names === undefined) {
    names = new Map(
      Object.entries(scopes).flatMap(([scope, { reported_as: reported = [] }]) =>
        reported.map((name): [string, string] => [name, scope]),
      ),
    );
    namesByScopes.set(scopes, names);
  }
  return names;
}
