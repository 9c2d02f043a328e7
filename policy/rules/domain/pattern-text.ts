import { httpMethod, nameReference } from '#contracts/vocabulary';
import { nearestName } from '#errors';
import {
  anyMethod,
  anyName,
  encodeArgument,
  encodeName,
  hasWildcard,
  isAnyArgument,
  keyCharactersMax,
  mapLiterals,
  splitKey,
} from '#permission-key';
import { normaliseHostPattern, normaliseHttpPattern } from './http-pattern.ts';
import { refusedPattern as refused } from './refused-pattern.ts';

/**
 * The most characters of a pattern with wildcards. This limits the cost of storing and comparing
 * one rule. The longest host with a method and `/**` fits.
 */
const wildcardPatternCharactersMax = 320;

const httpVerbs: readonly string[] = [...httpMethod.options, anyMethod, anyName];

/**
 * Converts a pattern that a person wrote to the form in which rules are stored. Throws for a
 * pattern that can match no permission key, because the person would rely on a deny rule that has
 * no effect.
 */
export function parsePattern(text: string): string {
  const segments = splitKey(text);
  if (segments === undefined) {
    throw refused('needs three segments, service:action:arg, such as github:create_issue:*');
  }
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(text) || !text.isWellFormed()) {
    throw refused('must not hold control characters; spell them as "%0A"');
  }
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) throw refused('must spell a literal "%" as "%25"');
  if (hasWildcard(text) && text.length > wildcardPatternCharactersMax) {
    throw refused(`with wildcards may have at most ${wildcardPatternCharactersMax} characters`);
  }
  const { service, arg } = segments;
  checkService(service);
  const action = parseAction(service, segments.action);
  if (arg === '') throw refused('needs an argument as its third segment; write * for any');
  const pattern = `${service}:${action}:${parseArgument(service, arg)}`;
  if (pattern.length > keyCharactersMax) {
    throw refused(`may have at most ${keyCharactersMax} characters once it is percent-encoded`);
  }
  return pattern;
}

function checkService(service: string): void {
  checkSegment('service', service);
  if (service === anyName || isPlainName(service)) return;
  const lowerCaseService = service.toLowerCase();
  throw refused(
    'names a service that cannot be: names have lower-case letters, digits, "_" and "-", and "org/" before them for the org\'s own',
    isPlainName(lowerCaseService) ? lowerCaseService : undefined,
  );
}

function parseAction(service: string, action: string): string {
  checkSegment('action', action);
  if (service === 'http') return parseVerb(action);
  if (action === anyName) return action;
  if (service === anyName && action === anyMethod) {
    throw refused('may have ANY for every method only after "http:"; write * for any action');
  }
  if ((service === 'secret' || service === 'connection') && !isPlainName(action)) {
    throw refused(`names a ${service} that cannot be: names have lower-case letters, "_" and "-"`);
  }
  return requireCanonicalText(action, encodeName, 'action');
}

function parseVerb(text: string): string {
  const verb = text.toUpperCase();
  if (httpVerbs.includes(verb)) return verb;
  throw refused('of raw HTTP needs a method', nearestName(verb, httpVerbs), {
    expected: `one of ${httpVerbs.join(', ')}`,
  });
}

function parseArgument(service: string, arg: string): string {
  if (isAnyArgument(arg)) return arg;
  if (service === 'http') return normaliseHttpPattern(arg);
  if (service === 'secret' || service === 'connection') return normaliseHostPattern(arg);
  const toPatternParts = () =>
    mapLiterals(arg, (part) =>
      // Within a position of a key, `/` is `%2F`.
      part
        .split(/%2F/i)
        .map((text) => requireCanonicalText(text, encodeArgument, 'argument'))
        .join('%2F'),
    );
  // The service `*` stands for every service and for raw HTTP, so text that cannot be an action's
  // argument may still be an address.
  return service === anyName && isHttpArgument(arg) ? arg : toPatternParts();
}

function isHttpArgument(arg: string): boolean {
  try {
    return normaliseHttpPattern(arg) === arg;
  } catch {
    return false;
  }
}

function checkSegment(label: string, name: string): void {
  if (name === '') throw refused(`needs its ${label}; write * for any`);
  if (name !== anyName && hasWildcard(name)) {
    throw refused(`may have a "*" in its ${label} only as the whole of it`);
  }
}

function isPlainName(text: string): boolean {
  return nameReference.safeParse(text).success;
}

/**
 * Returns the text if permission keys can contain it, and throws otherwise. Keys encode only a few
 * characters, so no key contains `%61`. The error asks whether the person meant `a` or the literal
 * text `%2561`.
 */
function requireCanonicalText(
  text: string,
  encodeText: (text: string) => string,
  label: string,
): string {
  const upperCaseText = text.replace(/%[0-9A-Fa-f]{2}/g, (triplet) => triplet.toUpperCase());
  const canonical = toCanonical(upperCaseText, encodeText);
  if (canonical === upperCaseText) return upperCaseText;
  throw refused(
    `has an ${label} that is spelled as in no key: of "%…" only what stands for %, *${label === 'action' ? ', :' : ''}, control and invisible characters is kept`,
    canonical,
  );
}

function toCanonical(text: string, encodeText: (text: string) => string): string {
  try {
    return encodeText(decodeURIComponent(text));
  } catch {
    return encodeText(text); // The bytes are not UTF-8, so the person means the percent signs literally.
  }
}
