import type { HttpCall } from '#contracts/call';
import { credentialPlaces } from '#contracts/credential-place';
import { refusalOfRawHeaderName } from '#contracts/request-headers';
import {
  normalisePath,
  refuseMethodOverride,
  refuseOverrideInBody,
  refuseOverrideInPairs,
} from '#templates';
import { hostOf, parseBaseUrl } from '../../services/domain/hosts.ts';
import { invalidParamError } from './invalid-params.ts';

/**
 * The target of a call by HTTP method and path or to a full URL, as the permission key contains it.
 */
export interface HttpTarget {
  readonly host: string;
  readonly path: string;
}

/**
 * Normalises the target of a call by HTTP method and path or to a full URL (RFC 3986 §6.2.2).
 * Throws for targets that two URL parsers could read differently. The executor sends exactly this
 * path, so the path is normalised only once.
 */
export function parseHttpTarget(target: string, baseUrl: string | null): HttpTarget {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  if (/[\u0000-\u0020\u007f\\]/.test(target) || !target.isWellFormed()) {
    throw invalidParamError('path', 'must not hold spaces, control characters or backslashes');
  }
  if (target.includes('#')) throw invalidParamError('path', 'must not have a fragment ("#…")');
  const [beforeQuery = '', ...query] = target.split('?');
  refuseOverrideInPairs(query.join('?'));
  const { host, path } =
    baseUrl === null ? splitUrl(beforeQuery) : findTargetBelow(baseUrl, beforeQuery);
  return { host, path: normalisePath(path) };
}

/**
 * Throws for invalid headers, and for headers, parameters and bodies that could make the upstream
 * run a method other than the one in the permission key.
 */
export function checkHttpParts({ headers, query, body, secrets }: HttpCall): void {
  for (const name of Object.keys(query)) refuseMethodOverride(name);
  refuseOverrideInBody(body, findContentType(headers));
  for (const [name, value] of Object.entries(headers)) {
    throwIfRefused(`headers.${name}`, refusalOfRawHeaderName(name));
    // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
    if (/[\u0000-\u0008\u000a-\u001f\u007f]/.test(value) || !value.isWellFormed()) {
      throw invalidParamError(
        `headers.${name}`,
        'holds control characters, which a header cannot carry',
      );
    }
  }
  for (const [index, secret] of secrets.entries()) {
    const path = `secrets.${index}`;
    const place = credentialPlaces[secret.in];
    const refusalOfKey = secret.in === 'header' ? refusalOfRawHeaderName : place.refusalOfName;
    throwIfRefused(`${path}.key`, refusalOfKey(secret.key));
    throwIfRefused(`${path}.prefix`, place.refusalOfText(secret.prefix ?? ''));
  }
}

function splitUrl(text: string): HttpTarget {
  const urlMatch = /^(https?):\/\/([^/]+)(\/.*)?$/i.exec(text);
  const [, scheme = '', authority = '', path = '/'] = urlMatch ?? [];
  const url = urlMatch === null ? null : URL.parse(`${scheme}://${authority}`);
  const host = url === null ? '' : hostOf(url);
  if (url === null || authority.includes('@') || host === '') {
    throw invalidParamError(
      'path',
      'must be an absolute http or https URL without user and password',
    );
  }
  // DNS treats `a.example..` like `a.example`, so without this check one host would have two names.
  if (/^\.|\.\./.test(url.hostname)) {
    throw invalidParamError('path', 'must name a host without empty labels ("..")');
  }
  return { host, path };
}

function findTargetBelow(baseUrl: string, path: string): HttpTarget {
  if (!path.startsWith('/')) {
    throw invalidParamError('path', 'must begin with "/", below the base URL of the service');
  }
  const base = parseBaseUrl(baseUrl);
  return { host: base.host, path: base.prefix + path };
}

function throwIfRefused(path: string, refusal: string | undefined): void {
  if (refusal !== undefined) throw invalidParamError(path, refusal);
}

function findContentType(headers: HttpCall['headers']): string | undefined {
  return Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1];
}
