import type { CompiledTemplate } from '#contracts/template';
import { partsOf, placesOf, prefixesOn } from '#templates';
import { parseBaseUrl } from '../../services/domain/hosts.ts';

/** A path on the host of a call. Operations of a service or template may be below this path. */
export interface NeighbourPlace {
  /** Without a slash at the end. `anySegment` stands for each unknown segment. */
  readonly prefix: string;
  /** The part of the template whose operations are there. */
  readonly template: CompiledTemplate;
}

interface NeighbourAddress {
  readonly host: string;
  /** Null for a template that is not connected. */
  readonly baseUrl: string | null;
}

/**
 * Every place on a host where operations of a service or template may be. Operations with their own
 * server are below that server; the others are below each root of the template. Empty for a
 * template that is on the host only because of its provider.
 */
export function placesOnHost(
  template: CompiledTemplate,
  { host, baseUrl }: NeighbourAddress,
): readonly NeighbourPlace[] {
  const [main = { template }, ...others] = partsOf(template);
  const ownServers =
    baseUrl === null
      ? others.map((part) => ({ ...part, baseUrl: part.server?.url ?? '' }))
      : placesOf(template, baseUrl).slice(1);
  return [
    ...prefixesOn(template, { host, baseUrl }).map((prefix) => ({
      prefix,
      template: main.template,
    })),
    ...ownServers.flatMap(({ baseUrl: url, template: part }) => {
      const own = parseBaseUrl(url);
      return own.host === host ? [{ prefix: own.prefix, template: part }] : [];
    }),
  ];
}
