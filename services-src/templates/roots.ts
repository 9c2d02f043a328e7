import { isPathVariable, serverPathOf, serverPlaceholder } from '#contracts/server-variables';
import type { CompiledTemplate } from '#contracts/template';
import { compileGlob, matchesText } from '#permission-key';
import { hostIn, serversOf } from './servers.ts';
import { isServedAt } from './service-address.ts';

/** A segment of a prefix that stands for any one segment. */
export const anySegment = '{}';

/**
 * Where on a host the actions of a template may be that have no server of their own: the paths of
 * its roots there, without a slash at the end. A root is a base URL under which the API can be
 * called: the one of the service, the servers of the template, and those of `alsoAt`. `anySegment`
 * stands for each segment that is not known. Empty when no root is on the host.
 *
 * A service at a base URL that an admin gave is an installation of its own, so that URL is its only
 * root.
 */
export function prefixesOn(
  template: Pick<CompiledTemplate, 'server' | 'servers' | 'alsoAt'>,
  {
    host,
    baseUrl,
  }: {
    /** As in permission keys. */
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
  // A variable fills a part of one label and no more. `URL` leaves asterisks as they are.
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
