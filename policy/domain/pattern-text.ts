import { httpMethod, nameReference } from '#contracts/vocabulary';
import { nearestName } from '#errors';
import { keyCharactersMax, encodeArgument, encodeName, splitKey } from '#permission-key';
import { hostPattern, httpPattern } from './http-pattern.ts';
import { refusedPattern as refused } from './refused-pattern.ts';

/** Bounds what one rule costs to keep and to match: the longest host with a method and `/**` has room. */
const wildcardPatternCharactersMax = 320;

const verbs: readonly string[] = [...httpMethod.options, 'ANY', '*'];

/**
 * A pattern as a person wrote it, in the form in which rules are stored. Whatever is left of it
 * is spelled as derived keys are: a pattern that could never match one is refused, because a deny
 * rule without effect is worse than none.
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
  if (text.includes('*') && text.length > wildcardPatternCharactersMax) {
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
  checkName('service', service);
  if (service === '*' || isName(service)) return;
  const lower = service.toLowerCase();
  throw refused(
    'names a service that cannot be: names have lower-case letters, digits, "_" and "-", and "org/" before them for the org\'s own',
    isName(lower) ? lower : undefined,
  );
}

function parseAction(service: string, action: string): string {
  checkName('action', action);
  if (service === 'http') return parseVerb(action);
  if (action === '*') return action;
  if (service === '*' && action === 'ANY') {
    throw refused('may have ANY for every method only after "http:"; write * for any action');
  }
  if ((service === 'secret' || service === 'connection') && !isName(action)) {
    throw refused(`names a ${service} that cannot be: names have lower-case letters, "_" and "-"`);
  }
  return spelled(action, encodeName, 'action');
}

function parseVerb(text: string): string {
  const verb = text.toUpperCase();
  if (verbs.includes(verb)) return verb;
  throw refused('of raw HTTP needs a method', nearestName(verb, verbs), {
    expected: `one of ${verbs.join(', ')}`,
  });
}

function parseArgument(service: string, arg: string): string {
  if (arg === '*' || arg === '**') return arg;
  if (service === 'http') return httpPattern(arg);
  if (service === 'secret' || service === 'connection') return hostPattern(arg);
  const parts = () => arg.replace(/[^*]+/g, (part) => spelled(part, encodeArgument, 'argument'));
  // Any service: actions and raw HTTP alike. One that no action's argument is may still be an address.
  return service === '*' && isHttpSpelling(arg) ? arg : parts();
}

function isHttpSpelling(arg: string): boolean {
  try {
    return httpPattern(arg) === arg;
  } catch {
    return false;
  }
}

function checkName(what: string, name: string): void {
  if (name === '') throw refused(`needs its ${what}; write * for any`);
  if (name !== '*' && name.includes('*')) {
    throw refused(`may have a "*" in its ${what} only as the whole of it`);
  }
}

function isName(text: string): boolean {
  return nameReference.safeParse(text).success;
}

/**
 * The text if keys spell it so. Derived text encodes a few characters and no others, so `%61`
 * stands in no key: it may have been meant as `a` or as the four characters `%2561`, and is asked back.
 */
function spelled(text: string, encodeText: (text: string) => string, what: string): string {
  const given = text.replace(/%[0-9A-Fa-f]{2}/g, (triplet) => triplet.toUpperCase());
  const canonical = canonicalOf(given, encodeText);
  if (canonical === given) return given;
  throw refused(
    `has an ${what} that is spelled as in no key: of "%…" only what stands for %, *${what === 'action' ? ', :' : ''}, control and invisible characters is kept`,
    canonical,
  );
}

function canonicalOf(text: string, encodeText: (text: string) => string): string {
  try {
    return encodeText(decodeURIComponent(text));
  } catch {
    return encodeText(text); // Not UTF-8: then the percent signs are meant literally.
  }
}
