import { normalisePath } from '#templates';
import { AppError } from '#errors';
import { hasWildcard, restoreWildcards, splitAddress } from '#permission-key';
import { hostOf } from '../../services/domain/hosts.ts';
import { refusedPattern as refused } from './refused-pattern.ts';

/**
 * Normalises the `{host}{path}` of an `http` pattern like the address of a call: the host in lower
 * case, the path by `normalisePath`. Throws for text that no permission key can contain.
 */
export function normaliseHttpPattern(arg: string): string {
  if (/[\u0020?#\\]/.test(arg)) {
    throw refused('must not hold spaces, backslashes, a query or a fragment');
  }
  const [scheme] = /^https?:\/\//i.exec(arg) ?? [];
  if (scheme !== undefined) {
    const [, host = '', rest = ''] = /^([^/]*)(.*)$/s.exec(arg.slice(scheme.length)) ?? [];
    throw refused('must not have a scheme: keys have none', host.toLowerCase() + rest);
  }
  const address = splitAddress(arg);
  if (address === undefined) {
    throw refused(`needs a path after the host; write http:GET:${arg}/** for any`);
  }
  const { host: head, rest: tail } = address;
  if (tail.startsWith('/')) return normaliseHostPattern(head) + normalisePathPattern(tail);
  // The text after a `**` may belong to the host or to the path.
  const [hostOrPath = ''] = tail.split('/', 1);
  if (/[A-Z]/.test(hostOrPath)) {
    throw refused(
      'has capitals between "**" and the first "/", where hosts have none; write "/" before a path',
    );
  }
  return parseHostText(head.toLowerCase()) + normalisePathPattern(tail);
}

/**
 * Checks that a host is written as in permission keys: lower-case A-label, no trailing dot, no
 * default port. Wildcards are allowed.
 */
export function normaliseHostPattern(hostText: string): string {
  const host = parseHostText(hostText.toLowerCase());
  if (/\.(?::\d+)?$/.test(host)) throw refused('needs its host without a dot at its end');
  if (/^\.|\.\./.test(host)) throw refused('needs a host without empty labels ("..")');
  if (/:(?:443|80)$/.test(host)) {
    const hostWithoutPort = host.replace(/:\d+$/, '');
    throw refused(
      'needs its host without the port of https or http, which no key has',
      hostWithoutPort,
    );
  }
  if (hasWildcard(host)) return host;
  const url = URL.parse(`https://${host}`);
  if (url === null || url.hostname === '') throw refused('needs a host such as api.example.com');
  const canonical = hostOf(url);
  if (canonical === host) return host;
  throw refused('has a host that keys spell in another way', canonical);
}

function parseHostText(host: string): string {
  if (/[^\u0021-\u007e]/.test(host)) {
    throw refused('needs its host in ASCII; write an international name as xn--…');
  }
  if (/[%@/]/.test(host)) throw refused('needs a plain host, without "%", "@" or "/"');
  return host;
}

/** Normalises the path of a pattern like the path of a call, but keeps the wildcards. */
function normalisePathPattern(path: string): string {
  return restoreWildcards(path, normalisePatternPath(path));
}

function normalisePatternPath(path: string): string {
  try {
    return normalisePath(path);
  } catch (error) {
    const { message } = AppError.from(error);
    throw refused(`has a path that no call can have (${message.replace(/\.$/, '')})`);
  }
}
