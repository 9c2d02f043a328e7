import { normalisePath } from '#templates';
import { AppError } from '#errors';
import { hostOf } from './hosts.ts';
import { refusedPattern as refused } from './refused-pattern.ts';

/**
 * The `{host}{path}` of an `http` pattern, normalised as the address of a call is: the host in
 * lower case, the path by `normalisePath`. Refuses what no call's key can hold.
 */
export function httpPattern(arg: string): string {
  if (/[\u0020?#\\]/.test(arg)) {
    throw refused('must not hold spaces, backslashes, a query or a fragment');
  }
  const [scheme] = /^https?:\/\//i.exec(arg) ?? [];
  if (scheme !== undefined) {
    const [, host = '', rest = ''] = /^([^/]*)(.*)$/s.exec(arg.slice(scheme.length)) ?? [];
    throw refused('must not have a scheme: keys have none', host.toLowerCase() + rest);
  }
  // A `**` may reach over the first slash: what stands after it may be host or path.
  const end = arg.search(/\/|\*\*/);
  if (end < 0) throw refused(`needs a path after the host; write http:GET:${arg}/** for any`);
  const [head, tail] = [arg.slice(0, end), arg.slice(end)];
  if (tail.startsWith('/')) return hostPattern(head) + pathPattern(tail);
  const [hostOrPath = ''] = tail.split('/', 1);
  if (/[A-Z]/.test(hostOrPath)) {
    throw refused(
      'has capitals between "**" and the first "/", where hosts have none; write "/" before a path',
    );
  }
  return checkHostText(head.toLowerCase()) + pathPattern(tail);
}

/** A host as it stands in keys, wildcards allowed: lower-case A-label, no trailing dot, no default port. */
export function hostPattern(given: string): string {
  const host = checkHostText(given.toLowerCase());
  if (/\.(?::\d+)?$/.test(host)) throw refused('needs its host without a dot at its end');
  if (/^\.|\.\./.test(host)) throw refused('needs a host without empty labels ("..")');
  if (/:(?:443|80)$/.test(host)) {
    const meant = host.replace(/:\d+$/, '');
    throw refused('needs its host without the port of https or http, which no key has', meant);
  }
  if (host.includes('*')) return host;
  const url = URL.parse(`https://${host}`);
  if (url === null || url.hostname === '') throw refused('needs a host such as api.example.com');
  const canonical = hostOf(url);
  if (canonical === host) return host;
  throw refused('has a host that keys spell in another way', canonical);
}

function checkHostText(host: string): string {
  if (/[^\u0021-\u007e]/.test(host)) {
    throw refused('needs its host in ASCII; write an international name as xn--…');
  }
  if (/[%@/]/.test(host)) throw refused('needs a plain host, without "%", "@" or "/"');
  return host;
}

/** As a call's path is normalised; which `%2A` was a wildcard is remembered meanwhile. */
function pathPattern(path: string): string {
  const asterisks = path.match(/\*|%2A/gi) ?? [];
  let at = 0;
  return normalised(path).replaceAll('%2A', () => (asterisks[at++] === '*' ? '*' : '%2A'));
}

function normalised(path: string): string {
  try {
    return normalisePath(path);
  } catch (thrown) {
    const { message } = AppError.from(thrown);
    throw refused(`has a path that no call can have (${message.replace(/\.$/, '')})`);
  }
}
