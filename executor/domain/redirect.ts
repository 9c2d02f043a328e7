import type { CompiledAction, CompiledTemplate } from '#contracts/template';
import { findOperations } from '#templates';
import { exactUrl, parseBaseUrl } from './base-url.ts';
import type { Scrubber } from './scrub.ts';

export const redirectsMax = 5;
const redirecting = new Set([301, 302, 303, 307, 308]);

/**
 * Where a GET or HEAD action follows a redirect to: only within its origin and only to the same
 * operation, because no other was permitted (docs/reference/calling.md#redirects). Otherwise
 * undefined, and the 3xx is the answer.
 */
export function redirectTarget({
  status,
  location,
  url,
  template,
  actionKey,
  baseUrl,
}: {
  status: number;
  location: string | undefined;
  url: string;
  template: CompiledTemplate;
  actionKey: string;
  baseUrl: string;
}): string | undefined {
  if (!redirecting.has(status) || location === undefined) return undefined;
  const target = URL.parse(location, url);
  if (target === null || target.origin !== new URL(url).origin) return undefined;
  if (target.username !== '' || target.password !== '') return undefined;
  target.hash = '';
  const { prefix } = parseBaseUrl(baseUrl);
  if (!target.pathname.startsWith(`${prefix}/`)) return undefined;
  const action = template.actions[actionKey];
  const argument = action && argumentAt(template, { action, prefix, url: new URL(url) });
  const isSame =
    argument !== undefined && argument === argumentAt(template, { action, prefix, url: target });
  return isSame ? exactUrl(target.href).href : undefined;
}

/** What the permission key of the action says at this address; undefined where it is not the action's. */
function argumentAt(
  template: CompiledTemplate,
  { action, prefix, url }: { action: CompiledAction | undefined; prefix: string; url: URL },
): string | undefined {
  if (action === undefined) return undefined;
  const path = url.pathname.slice(prefix.length);
  const [found, ...others] = findOperations(template, { method: action.method, path });
  if (found?.action.key !== action.key || others.length > 0) return undefined;
  const scope = action.params.find(({ name }) => name === action.scopeParam);
  if (scope?.in === 'query') return JSON.stringify(url.searchParams.getAll(scope.wireName));
  if (scope?.in !== 'path') return '';
  return Object.hasOwn(found.pathValues, scope.name) ? found.pathValues[scope.name] : undefined;
}

/**
 * Where the bytes of a download are, when the upstream sends its callers elsewhere for them: to
 * storage of its own, by a link that needs no credential (docs/reference/calling.md#redirects).
 * Undefined for any other redirect, and for a link in which the upstream repeats an injected value.
 */
export function downloadTarget({
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
  if (!redirecting.has(status) || location === undefined) return undefined;
  const target = URL.parse(location, url);
  if (target === null || !['https:', 'http:'].includes(target.protocol)) return undefined;
  if (target.username !== '' || target.password !== '') return undefined;
  target.hash = '';
  return scrubber.text(target.href) === target.href ? target.href : undefined;
}
