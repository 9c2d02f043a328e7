import type { DerivedKey } from '#contracts/permit';
import { hiddenCharacters } from '#hidden-characters';

/** Longest permission key; the contracts refuse a longer one. */
export const keyCharactersMax = 4096;

/** `arg` of an action that has no `scope_param`, or was called without it: the whole action. */
export const wholeAction = '*';

/**
 * Derived text never holds what means something in a rule: `%`, `*`, control characters and those
 * that nobody sees become UTF-8 percent triplets. So no caller can mint a wildcard, and a key reads
 * as what it is wherever it is shown.
 */
const inArgument = new RegExp(`[%*\\p{Cc}${hiddenCharacters}]`, 'gu');
/** Service and action may hold no `:` either: a key is split at its first two. */
const inName = new RegExp(`[%*:\\p{Cc}${hiddenCharacters}]`, 'gu');
const hidden = new RegExp(`[\\p{Cc}${hiddenCharacters}]`, 'gu');

export function encodeName(text: string): string {
  return text.replace(inName, encodeCharacter);
}

export function encodeArgument(text: string): string {
  return text.replace(inArgument, encodeCharacter);
}

/** A stored pattern in the spelling that keys have: some were stored before hidden characters were encoded. */
export function withHiddenEncoded(pattern: string): string {
  return pattern.replace(hidden, encodeCharacter);
}

/** `service:action:arg`; an undefined argument is the whole action. */
export function actionKey(service: string, action: string, argument?: string): DerivedKey {
  return keyOf({
    service: encodeName(service),
    action: encodeName(action),
    arg: argument === undefined ? wholeAction : encodeArgument(argument),
  });
}

/** `http:{VERB}:{host}{path}`. Host and path are normalised already and hold triplets of their own. */
export function httpKey(method: string, host: string, path: string): DerivedKey {
  return keyOf({ service: 'http', action: method, arg: `${host}${path}`.replaceAll('*', '%2A') });
}

/** `secret:{name}:{host}`: a secret approved for one host cannot be sent to another. */
export function secretKey(name: string, host: string): DerivedKey {
  return keyOf({ service: 'secret', action: encodeName(name), arg: encodeArgument(host) });
}

/** `connection:{name}:{host}`: likewise for the access token of a connection. */
export function connectionKey(name: string, host: string): DerivedKey {
  return keyOf({ service: 'connection', action: encodeName(name), arg: encodeArgument(host) });
}

/** The three segments of a key or pattern, split at the first two `:`; undefined when there are fewer. */
export function splitKey(key: string): Omit<DerivedKey, 'key'> | undefined {
  const first = key.indexOf(':');
  const second = key.indexOf(':', first + 1);
  if (first < 0 || second < 0) return undefined;
  return {
    service: key.slice(0, first),
    action: key.slice(first + 1, second),
    arg: key.slice(second + 1),
  };
}

/** `github` for `org/github`: deny rules on the one also match the other. */
export function withoutOrg(name: string): string {
  return name.startsWith('org/') ? name.slice('org/'.length) : name;
}

function keyOf(segments: Omit<DerivedKey, 'key'>): DerivedKey {
  return { key: `${segments.service}:${segments.action}:${segments.arg}`, ...segments };
}

function encodeCharacter(character: string): string {
  const bytes = new TextEncoder().encode(character);
  return [...bytes].map((byte) => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}
