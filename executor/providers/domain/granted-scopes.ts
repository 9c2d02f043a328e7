import type { OauthProvider } from '#contracts/oauth-provider';
import { coveredScopes, normaliseScopes } from '#providers';

type ScopeRow = Partial<Pick<OauthProvider, 'scopes' | 'scope_prefix' | 'scopes_always'>>;

/** The scopes of a token. */
export interface GrantedScopes {
  /** The scopes by the names that requests use for them. */
  readonly scopes: string[];
  /** The scopes as the provider spells them; null when the spelling is the same. */
  readonly reported: string[] | null;
}

/**
 * Scopes that give access to no API (OpenID Connect Core §3.1.2.1, §11). Providers add and drop
 * them at will, so they count as granted if they were requested.
 */
const protocolScopes = ['openid', 'offline_access'];
/**
 * Scopes that providers add without a request, always in this spelling (OpenID Connect Core §5.4).
 */
const addedScopes = [...protocolScopes, 'profile', 'email', 'address', 'phone'];
const isAdded = (scope: string) => addedScopes.includes(scope.toLowerCase());

/**
 * Reads the scopes of a token answer, under the names that were requested. Providers may spell
 * scopes differently in answers: in other letter case, with other separators, with or without a URL
 * in front. If an answer has none of the requested names, and at least as many other words as names
 * are missing, the provider has granted the requested scopes under its own names. If it has some of
 * the requested names, the missing scopes were not granted. The same holds for a provider whose
 * definition lists scopes, because all its names are known.
 *
 * @param answer `reported` is null when the answer lists no scopes. Then all requested scopes are
 * granted (RFC 6749 §5.1).
 */
export function readGrantedScopes(
  provider: ScopeRow,
  answer: { readonly asked: readonly string[]; readonly reported: readonly string[] | null },
): GrantedScopes {
  const asked = normaliseScopes(provider, answer.asked);
  if (answer.reported === null) return { scopes: asked, reported: null };
  const reported = [...answer.reported];
  if (provider.scopes === 'opaque') return { scopes: asked, reported };
  const words = normaliseScopes(provider, reported);
  const askedOf = matchSpellings(asked, words);
  const covered = coveredScopes(provider, [...askedOf.values(), ...words]);
  // Token responses often leave out the scopes that only produce a refresh token.
  const unlisted = [...protocolScopes, ...(provider.scopes_always ?? [])];
  const missingScopes = asked.filter(
    (scope) => !covered.includes(scope) && !unlisted.includes(scope),
  );
  const otherWords = words.filter((word) => !askedOf.has(word) && !isAdded(word));
  const isRepeated =
    provider.scopes !== undefined ||
    asked.some((scope) => words.includes(scope) && !isAdded(scope));
  const isForeign = missingScopes.length > 0 && !isRepeated;
  const isReworded = isForeign && otherWords.length >= missingScopes.length;
  const scopes = new Set([
    ...words
      // A spelling that only the provider uses is not requested again: the provider may understand
      // it in no request.
      .filter((word) => !isForeign || !otherWords.includes(word))
      .map((word) => askedOf.get(word) ?? word),
    ...(isReworded ? missingScopes : []),
    ...asked.filter((scope) => protocolScopes.includes(scope)),
  ]);
  const isRenamed = isForeign || [...askedOf].some(([word, scope]) => word !== scope);
  return { scopes: [...scopes], reported: isRenamed ? reported : null };
}

/**
 * For each scope in the provider's answer: the requested scope that it is, in the same or another
 * spelling.
 */
function matchSpellings(asked: readonly string[], words: readonly string[]): Map<string, string> {
  const sameScopes = asked.filter((scope) => words.includes(scope));
  const askedOf = new Map(sameScopes.map((scope) => [scope, scope]));
  const unmatched = new Set(asked.filter((scope) => !askedOf.has(scope)));
  const byName = new Map([...unmatched].map((scope) => [toComparable(scope), scope]));
  const byEnding = new Map(
    [...unmatched].flatMap((scope) => namesOf(scope).map((name) => [name, scope] as const)),
  );
  for (const word of words) {
    if (askedOf.has(word)) continue;
    const candidates = [
      ...namesOf(word).map((name) => byName.get(name)),
      byEnding.get(toComparable(word)),
    ];
    const scope = candidates.find((each) => each !== undefined && unmatched.delete(each));
    if (scope !== undefined) askedOf.set(word, scope);
  }
  return askedOf;
}

const endingsMax = 5;

/**
 * The names of a scope in a comparable form: the scope itself, and for a URL or a URN also its last
 * part.
 */
function namesOf(scope: string): string[] {
  const separator = /^urn:/i.test(scope) ? ':' : '/';
  const isAddress = separator === ':' || /^[a-z][a-z0-9+.-]{0,30}:\/\//i.test(scope);
  const parts = isAddress ? scope.split(separator).filter(Boolean).slice(-endingsMax) : [];
  return [scope, ...parts.map((_, at) => parts.slice(at).join(separator))].map(toComparable);
}

/** Two scopes that differ only in letter case or separators get the same text. */
function toComparable(scope: string): string {
  return scope.toLowerCase().replaceAll(/[.:_-]+/g, '.');
}
