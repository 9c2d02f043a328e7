import { AppError } from '#errors';
import {
  encode,
  normalisePath,
  normaliseText,
  refuseMethodOverride,
  refuseOverrideInPairs,
} from '#templates';
import { exactUrl, parseBaseUrl } from './base-url.ts';

type Query = Readonly<Record<string, string | string[]>>;

/**
 * The URL of a call by HTTP method and path or full URL, normalised once by RFC 3986 §6.2.2. Its
 * path is byte for byte the `arg` of the permission key that policy decided on.
 */
export function httpUrlOf({
  target,
  baseUrl,
  query,
}: {
  target: string;
  /** Null for a call by full URL. */
  baseUrl: string | null;
  query: Query;
}): string {
  // oxlint-disable-next-line no-control-regex -- control characters are searched for
  if (/[\u0000-\u0020\u007f\\]/.test(target) || !target.isWellFormed()) {
    throw invalidTarget('must not hold spaces, control characters or backslashes');
  }
  if (target.includes('#')) throw invalidTarget('must not have a fragment ("#…")');
  const queryIndex = target.indexOf('?');
  const beforeQuery = queryIndex < 0 ? target : target.slice(0, queryIndex);
  const base =
    baseUrl === null ? splitFullUrl(beforeQuery) : splitPathBelowBase(beforeQuery, baseUrl);
  const pairs = [...queryOf(queryIndex < 0 ? '' : target.slice(queryIndex + 1)), ...pairsOf(query)];
  const search = pairs.length === 0 ? '' : `?${pairs.join('&')}`;
  return exactUrl(base.origin + normalisePath(base.path) + search).href;
}

function splitFullUrl(target: string): { origin: string; path: string } {
  const match = /^(https?):\/\/([^/]+)(\/.*)?$/i.exec(target);
  const [, scheme = '', authority = '', path = '/'] = match ?? [];
  const url = match && URL.parse(`${scheme}://${authority}`);
  if (!url || authority.includes('@')) {
    throw invalidTarget('must be an absolute http or https URL without user name and password');
  }
  const hostname = url.hostname.replace(/\.$/, '');
  if (hostname === '') throw invalidTarget('must name a host');
  if (/^\.|\.\.|\.$/.test(hostname)) throw invalidTarget('must name a host without empty labels');
  const port = url.port === '' ? '' : `:${url.port}`;
  return { origin: `${url.protocol}//${hostname}${port}`, path };
}

function splitPathBelowBase(target: string, baseUrl: string): { origin: string; path: string } {
  if (!target.startsWith('/'))
    throw invalidTarget('must begin with "/", below the base URL of the service');
  const { origin, prefix } = parseBaseUrl(baseUrl);
  return { origin, path: prefix + target };
}

function queryOf(text: string): string[] {
  return text
    .split('&')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const normal = normaliseText(pair, /[A-Za-z0-9\-._~!$()*+,;=:@/?]/);
      refuseOverrideInPairs(normal);
      return normal;
    });
}

function pairsOf(query: Query): string[] {
  return Object.entries(query).flatMap(([name, value]) => {
    refuseMethodOverride(name);
    return [value].flat().map((each) => `${encode(name, name)}=${encode(each, name)}`);
  });
}

function invalidTarget(message: string): AppError {
  return new AppError('invalid_params', `The path or URL of the call ${message}.`, {
    details: { issues: [{ path: 'path', message }] },
  });
}
