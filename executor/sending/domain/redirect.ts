import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { findOperations, isWithin, partWith, scopeOf } from '#templates';
import { exactUrl, parseBaseUrl } from '../../request/domain/base-url.ts';
import type { Scrubber } from '../../answers/domain/scrub.ts';

export const redirectsMax = 5;
const redirectStatuses = new Set([301, 302, 303, 307, 308]);

/**
 * The URL to which a GET or HEAD action follows a redirect. It must have the same origin and belong
 * to the same operation, because the permit allows nothing else
 * (docs/reference/calling.md#redirects). Undefined for any other redirect; the 3xx answer is then
 * the result.
 */
export function findRedirectTarget({
  status,
  location,
  url,
  template,
  actionKey,
  baseUrl,
  pinnedTo = [],
}: {
  status: number;
  location: string | undefined;
  url: string;
  template: CompiledTemplate;
  actionKey: string;
  baseUrl: string;
  /**
   * For each credential that is bound to one site of an account: the base URLs to which the
   * credential may go.
   */
  pinnedTo?: readonly (readonly string[])[];
}): string | undefined {
  if (!redirectStatuses.has(status) || location === undefined) return undefined;
  const target = URL.parse(location, url);
  if (target === null || target.origin !== new URL(url).origin) return undefined;
  if (target.username !== '' || target.password !== '') return undefined;
  target.hash = '';
  const { prefix } = parseBaseUrl(baseUrl);
  if (!target.pathname.startsWith(`${prefix}/`)) return undefined;
  // Servers may decode such a path to one outside the base URL. A caller cannot use such a path
  // either.
  if (!isWithin([baseUrl], target.href)) return undefined;
  if (!pinnedTo.every((baseUrls) => isWithin(baseUrls, target.href))) return undefined;
  const action = template.actions[actionKey];
  const keyArgument = action && findArgumentAt(template, { action, prefix, url: new URL(url) });
  const isSame =
    keyArgument !== undefined &&
    keyArgument === findArgumentAt(template, { action, prefix, url: target });
  return isSame ? exactUrl(target.href).href : undefined;
}

/**
 * The argument for the action's permission key at this URL. Undefined when the URL does not belong
 * to the action.
 */
function findArgumentAt(
  template: CompiledTemplate,
  { action, prefix, url }: { action: CompiledAction | undefined; prefix: string; url: URL },
): string | undefined {
  if (action === undefined) return undefined;
  const path = url.pathname.slice(prefix.length);
  const operations = { method: action.method, path };
  const [found, ...others] = findOperations(partWith(template, action), operations);
  if (found?.action.key !== action.key || others.length > 0) return undefined;
  const values = scopeOf(action)
    .flatMap(({ sources }) => sources)
    .map(({ param }) => {
      if (param.in === 'query') return url.searchParams.getAll(param.wireName);
      if (param.in !== 'path') return [];
      return Object.hasOwn(found.pathValues, param.name) ? [found.pathValues[param.name]] : null;
    });
  return values.includes(null) ? undefined : JSON.stringify(values);
}

/**
 * The URL of a download at another host, to which the upstream redirects with a link that needs no
 * credential (docs/reference/calling.md#redirects). Undefined for any other redirect, and when the
 * link contains an injected value.
 */
export function findDownloadTarget({
  status,
  location,
  url,
  scrubber,
}: {
  status: number;
  location: string | undefined;
  url: string;
  scrubber: Scrubber;
}): string | undefined {
  if (!redirectStatuses.has(status) || location === undefined) return undefined;
  const target = URL.parse(location, url);
  if (target === null || !['https:', 'http:'].includes(target.protocol)) return undefined;
  if (target.username !== '' || target.password !== '') return undefined;
  target.hash = '';
  return scrubber.text(target.href) === target.href ? target.href : undefined;
}
