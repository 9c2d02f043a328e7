import { httpMethod } from '#contracts/vocabulary';
import { invalidParam, invalidParams } from './invalid-call.ts';
import { splitKey } from './keys.ts';
import { nearestName } from './nearest.ts';

/** Bounds what matching one rule can cost. */
const WILDCARD_PATTERN_CHARACTERS_MAX = 1024;

const verbs: readonly string[] = [...httpMethod.options, 'ANY', '*'];

/**
 * A pattern as a person wrote it, in the form in which rules are stored. Refuses what could never
 * match a derived key: a rule without effect is worse than none.
 */
export function parsePattern(text: string): string {
  const segments = splitKey(text);
  if (segments === undefined) {
    throw refused('needs three segments, service:action:arg, such as github:issues.create:*');
  }
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u001f\u007f-\u009f]/.test(text) || !text.isWellFormed()) {
    throw refused('must not hold control characters');
  }
  if (/%(?![0-9A-Fa-f]{2})/.test(text)) throw refused('must spell a literal "%" as "%25"');
  if (text.includes('*') && text.length > WILDCARD_PATTERN_CHARACTERS_MAX) {
    throw refused(`with wildcards may have at most ${WILDCARD_PATTERN_CHARACTERS_MAX} characters`);
  }
  const { service, arg } = segments;
  const action = service === 'http' ? segments.action.toUpperCase() : segments.action;
  checkName('service', service);
  checkName('action', action);
  if (arg === '') throw refused('needs an argument as its third segment; write * for any');
  if (service === 'http') checkVerb(action);
  const parsedArg = service === 'http' ? parseHttpArgument(arg) : arg;
  return upperCaseTriplets(`${service}:${action}:${parsedArg}`);
}

function checkName(what: string, name: string): void {
  if (name === '') throw refused(`needs a ${what}; write * for any`);
  if (name !== '*' && name.includes('*')) {
    throw refused(`may have a "*" in its ${what} only as the whole of it`);
  }
}

function checkVerb(verb: string): void {
  if (verbs.includes(verb)) return;
  const hint = nearestName(verb, verbs);
  throw invalidParams([
    {
      path: 'pattern',
      message: 'of raw HTTP needs a method',
      expected: `one of ${verbs.join(', ')}`,
      ...(hint === undefined ? {} : { did_you_mean: hint }),
    },
  ]);
}

/** `{host}{path}`: the host in lower case, and a path, because every request has one. */
function parseHttpArgument(arg: string): string {
  if (arg === '*' || arg.startsWith('**')) return arg;
  const slash = arg.indexOf('/');
  const host = (slash < 0 ? arg : arg.slice(0, slash)).toLowerCase();
  if (/[^\u0021-\u007e]/.test(host)) {
    throw refused('needs its host in ASCII; write an international name as xn--…');
  }
  if (/\.(?::\d+)?$/.test(host)) throw refused('needs its host without a dot at its end');
  if (slash < 0 && !host.endsWith('**')) {
    throw refused(`needs a path after the host; write http:GET:${host}/** for any`);
  }
  if (/[\u0020?#]/.test(arg)) throw refused('must not hold spaces, a query or a fragment');
  return slash < 0 ? host : host + arg.slice(slash);
}

function upperCaseTriplets(text: string): string {
  return text.replace(/%[0-9A-Fa-f]{2}/g, (triplet) => triplet.toUpperCase());
}

function refused(message: string): Error {
  return invalidParam('pattern', message);
}
