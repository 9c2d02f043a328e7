import { isPathVariable, serverPathOf, serverPlaceholder } from '#contracts/server-variables';
import type { CompiledTemplate } from '#contracts/template';
import { compileGlob, matchesText } from '#permission-key';
import { hostIn, serversOf } from './servers.ts';
import { isServedAt } from './service-address.ts';

/** Stands for any one segment in a prefix. */
export const anySegment = '{}';

/**
 * The paths on a host below which the actions of a template may be, except actions with a server of
 * their own. These are the paths of the API's roots on that host, without a slash at the end. A
 * root is a base URL under which the API can be called: that of the service, the servers of the
 * template, and those of `alsoAt`. `anySegment` replaces each segment that is not known. Empty when
 * no root is on the host.
 *
 * A service at a base URL that an admin gave is a separate installation, so that URL is its only
 * root.
 */
export function prefixesOn(
  template: Pick<CompiledTemplate, 'server' | 'servers' | 'alsoAt'>,
  {
    host,
    baseUrl,
  }: {
    /** Written as in permission keys. */
    host: string;
    /** Null for a template that is not connected. */
    baseUrl: string | null;
  },
): readonly string[] {
  const servers = serversOf(template);
  const otherServers = servers.filter((each) => baseUrl === null || !isServedAt(each, baseUrl));
  const isGiven = baseUrl !== null && otherServers.length === servers.length;
  const otherRoots = isGiven
    ? []
    : [...otherServers.map(({ url }) => url), ...(template.alsoAt ?? [])];
  const roots = baseUrl === null ? otherRoots : [baseUrl, ...otherRoots];
  return [...new Set(roots.filter((url) => mayBeOn(url, host)).map(prefixOf))];
}

/** Whether a base URL is on this host with some values of its variables. */
export function mayBeOn(url: string, host: string): boolean {
  const origin = url.slice(0, url.length - serverPathOf(url).length);
  if (!/[{}]/.test(origin)) return hostIn(url) === host;
  // A variable is one label or a part of one label. `URL` leaves asterisks as they are.
  const patterns = hostIn(origin.replaceAll(serverPlaceholder, '*')).split('.');
  const labels = host.split('.');
  return (
    patterns.length === labels.length &&
    patterns.every((pattern, at) => matchesText(compileGlob(pattern), labels[at] ?? ''))
  );
}

function prefixOf(url: string): string {
  const address = url.replaceAll(serverPlaceholder, (_, name: string) =>
    isPathVariable(url, name) ? anySegment : 'x',
  );
  // `URL` encodes braces. Roots have no percent signs of their own.
  return new URL(address).pathname.replace(/\/+$/, '').replaceAll('%7B%7D', anySegment);
}
