import { isPathVariable, serverPathOf, serverPlaceholder } from '#contracts/server-variables';
import type { CompiledTemplate } from '#contracts/template';
import type { TemplateServer } from '#contracts/template-server';
import { anySegment, hostIn, partsOf, placesOf, serversOf } from '#templates';
import { parseBaseUrl } from '../../services/domain/hosts.ts';
import type { NeighbourPlace } from './deny-names.ts';

type PlacesOnHost = readonly [NeighbourPlace, ...NeighbourPlace[]];

/**
 * Where the operations of a service or template are on a host: those without a server of their own
 * below the base URL, the others below their server if that is on the host. Several lists for a
 * template that is not connected and has several servers, since each of them may be the one.
 */
export function listPlacesOnHost(
  template: CompiledTemplate,
  {
    host,
    baseUrl,
  }: {
    host: string;
    /** Null for a template that is not connected. */
    baseUrl: string | null;
  },
): readonly PlacesOnHost[] {
  const [main = { template }, ...others] = partsOf(template);
  const places =
    baseUrl === null
      ? others.map((part) => ({ ...part, baseUrl: part.server?.url ?? '' }))
      : placesOf(template, baseUrl).slice(1);
  const ownPlaces = places.flatMap(({ baseUrl: url, template: part }) => {
    const own = parseBaseUrl(url);
    return own.host === host ? [{ prefix: own.prefix, template: part }] : [];
  });
  const [first, ...more] = ownPlaces;
  if (first !== undefined && !mayBeAt(template, { host, baseUrl })) return [[first, ...more]];
  const prefixes = baseUrl === null ? prefixesOf(template) : [parseBaseUrl(baseUrl).prefix];
  return prefixes.map((prefix) => [{ prefix, template: main.template }, ...ownPlaces]);
}

/** Whether the service, or another server of its template, may be on the host too. */
function mayBeAt(
  template: CompiledTemplate,
  { host, baseUrl }: { host: string; baseUrl: string | null },
): boolean {
  if (baseUrl !== null && parseBaseUrl(baseUrl).host === host) return true;
  return serversOf(template).some(({ url }) =>
    hasFixedHost(url) ? hostIn(url) === host : baseUrl === null,
  );
}

function hasFixedHost(url: string): boolean {
  return !/[{}]/.test(url.slice(0, url.length - serverPathOf(url).length));
}

/** The paths of the template's servers; their variables may have any values. */
function prefixesOf(template: CompiledTemplate): readonly string[] {
  return [...new Set(serversOf(template).map(prefixOf))];
}

function prefixOf({ url }: TemplateServer): string {
  const address = url.replaceAll(serverPlaceholder, (_, name: string) =>
    isPathVariable(url, name) ? anySegment : 'x',
  );
  // `URL` encodes braces. Server URLs of templates have no percent signs of their own.
  return parseBaseUrl(address).prefix.replaceAll('%7B%7D', anySegment);
}
