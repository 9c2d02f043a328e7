import type { HttpCall } from '#contracts/call';
import { isForbiddenHeader, isOverridingHeader } from '#contracts/request-headers';
import {
  normalisePath,
  refuseMethodOverride,
  refuseOverrideInBody,
  refuseOverrideInPairs,
} from '#templates';
import { hostOf, parseBaseUrl } from './hosts.ts';
import { invalidParam } from './invalid-call.ts';

/** Where a verb or raw call goes, as it stands in its permission key. */
export interface HttpTarget {
  readonly host: string;
  readonly path: string;
}

/**
 * Normalises the target of a verb or raw call once (RFC 3986 §6.2.2) and refuses whatever two
 * parsers could read differently. The executor sends exactly this path.
 */
export function parseHttpTarget(target: string, baseUrl: string | null): HttpTarget {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0020\u007f\\]/.test(target) || !target.isWellFormed()) {
    throw invalidParam('path', 'must not hold spaces, control characters or backslashes');
  }
  if (target.includes('#')) throw invalidParam('path', 'must not have a fragment ("#…")');
  const [beforeQuery = '', ...query] = target.split('?');
  refuseOverrideInPairs(query.join('?'));
  const { host, path } = baseUrl === null ? splitUrl(beforeQuery) : below(baseUrl, beforeQuery);
  return { host, path: normalisePath(path) };
}

/** Refuses what would make the upstream run another method than the key says, or is no header. */
export function checkHttpParts({ headers, query, body, secrets }: HttpCall): void {
  for (const name of Object.keys(query)) refuseMethodOverride(name);
  refuseOverrideInBody(body, contentTypeIn(headers));
  for (const [name, value] of Object.entries(headers)) {
    checkHeaderName(`headers.${name}`, name);
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value) || !value.isWellFormed()) {
      throw invalidParam(
        `headers.${name}`,
        'holds control characters, which a header cannot carry',
      );
    }
  }
  for (const [index, secret] of secrets.entries()) {
    const path = `secrets.${index}`;
    if (secret.in === 'query') refuseMethodOverride(secret.key);
    else checkHeaderName(`${path}.key`, secret.key);
    if (!/^[\u0020-\u007e]*$/.test(secret.prefix ?? '')) {
      throw invalidParam(`${path}.prefix`, 'may hold printable ASCII characters only');
    }
  }
}

function splitUrl(text: string): HttpTarget {
  const match = /^(https?):\/\/([^/]+)(\/.*)?$/i.exec(text);
  const [, scheme = '', authority = '', path = '/'] = match ?? [];
  const url = match === null ? null : URL.parse(`${scheme}://${authority}`);
  const host = url === null ? '' : hostOf(url);
  if (url === null || authority.includes('@') || host === '') {
    throw invalidParam('path', 'must be an absolute http or https URL without user and password');
  }
  // DNS reads `a.example..` as `a.example`: it would be one host by two names.
  if (/^\.|\.\./.test(url.hostname)) {
    throw invalidParam('path', 'must name a host without empty labels ("..")');
  }
  return { host, path };
}

function below(baseUrl: string, path: string): HttpTarget {
  if (!path.startsWith('/')) {
    throw invalidParam('path', 'must begin with "/", below the base URL of the service');
  }
  const base = parseBaseUrl(baseUrl);
  return { host: base.host, path: base.prefix + path };
}

function checkHeaderName(path: string, name: string): void {
  if (!/^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name)) {
    throw invalidParam(path, 'is not a header name');
  }
  if (isOverridingHeader(name)) {
    throw invalidParam(path, 'would change the method, host or path of the request: refused');
  }
  if (isForbiddenHeader(name)) throw invalidParam(path, 'is a header that only the gateway sets');
}

function contentTypeIn(headers: HttpCall['headers']): string | undefined {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1];
}
