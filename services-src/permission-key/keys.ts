import type { DerivedKey } from '#contracts/permit';
import { hiddenCharacters } from '#hidden-characters';
import { encodeAsterisks } from './wildcards.ts';

/** The most characters of a permission key; the contracts refuse a longer one. */
export const keyCharactersMax = 4096;

/** The `arg` of an action that has no `scope_param` or was called without it: the whole action. */
export const wholeAction = '*';

/**
 * The characters that are percent-encoded in a key: `%` and `*`, which have a meaning in rules,
 * control characters and hidden characters. So no caller can make a wildcard, and a key looks the
 * same wherever it is shown.
 */
const charactersEncodedInArgument = new RegExp(`[%*\\p{Cc}${hiddenCharacters}]`, 'gu');
/** In service and action `:` is encoded as well, because a key is split at its first two colons. */
const charactersEncodedInName = new RegExp(`[%*:\\p{Cc}${hiddenCharacters}]`, 'gu');
const hiddenPattern = new RegExp(`[\\p{Cc}${hiddenCharacters}]`, 'gu');

export function encodeName(text: string): string {
  return text.replace(charactersEncodedInName, encodeCharacter);
}

export function encodeArgument(text: string): string {
  return text.replace(charactersEncodedInArgument, encodeCharacter);
}

/**
 * A stored pattern with its hidden characters encoded as in keys: some patterns were stored before
 * keys encoded hidden characters.
 */
export function encodeHiddenCharacters(pattern: string): string {
  return pattern.replace(hiddenPattern, encodeCharacter);
}

/** The key `service:action:arg`; an undefined argument means the whole action. */
export function createActionKey(service: string, action: string, argument?: string): DerivedKey {
  return keyOf({
    service: encodeName(service),
    action: encodeName(action),
    arg: argument === undefined ? wholeAction : encodeArgument(argument),
  });
}

/**
 * The key of an argument with several positions, such as `project/type`. Within a position `/` is
 * encoded, so that a value cannot look like two positions. An undefined position is written `*`,
 * which no value can equal.
 */
export function createPositionsKey(
  service: string,
  action: string,
  positions: readonly (string | undefined)[],
): DerivedKey {
  if (positions.every((position) => position === undefined))
    return createActionKey(service, action);
  const arg = positions
    .map((text) => (text === undefined ? unknownPosition : encodePosition(encodeArgument(text))))
    .join('/');
  return keyOf({ service: encodeName(service), action: encodeName(action), arg });
}

/** A position whose value is absent or unknown. */
export const unknownPosition = '*';

/** An encoded argument as a position, in which `/` is encoded too. */
export function encodePosition(argument: string): string {
  return argument.replaceAll('/', '%2F');
}

/**
 * The key of a call by HTTP method and full URL: `http:{METHOD}:{host}{path}`. Host and path are
 * already normalised and contain percent triplets.
 */
export function createHttpKey(method: string, host: string, path: string): DerivedKey {
  return keyOf({ service: 'http', action: method, arg: encodeAsterisks(`${host}${path}`) });
}

/**
 * The key for using a secret, `secret:{name}:{host}`: a secret approved for one host cannot be sent
 * to another.
 */
export function createSecretKey(name: string, host: string): DerivedKey {
  return keyOf({ service: 'secret', action: encodeName(name), arg: encodeArgument(host) });
}

/**
 * The key for using a connection, `connection:{name}:{host}`: an access token approved for one host
 * cannot be sent to another.
 */
export function createConnectionKey(name: string, host: string): DerivedKey {
  return keyOf({ service: 'connection', action: encodeName(name), arg: encodeArgument(host) });
}

/** The three segments of a key or pattern, split at the first two `:`; undefined when there are fewer. */
export function splitKey(key: string): Omit<DerivedKey, 'key'> | undefined {
  const firstColon = key.indexOf(':');
  const secondColon = key.indexOf(':', firstColon + 1);
  if (firstColon < 0 || secondColon < 0) return undefined;
  return {
    service: key.slice(0, firstColon),
    action: key.slice(firstColon + 1, secondColon),
    arg: key.slice(secondColon + 1),
  };
}

/** `github` for `org/github`: a deny rule on either name also matches the other. */
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
