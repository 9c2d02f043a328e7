import { networkInterfaces } from 'node:os';

import { embeddedAddresses, parseAddress } from './address.ts';
import type { Address } from './address.ts';

/** Where this installation listens. */
export interface OwnPlaces {
  /** `host:port` of each listener. A name counts by what it resolves to. */
  readonly listeners: readonly string[];
  /** `host:port` that are ours by their name alone: many names may share a web address. */
  readonly names: readonly string[];
}

/** The places where this installation itself listens, as far as is known. */
export interface OwnAddresses {
  /** As the host is written. */
  coversHost(host: string, port: number): boolean;
  /** By the addresses that the names of our listeners led to when they were last looked up. */
  coversAddress(address: Address, port: number): boolean;
  /** Whether a listener of ours whose name can be looked up has this port. */
  hasPort(port: number): boolean;
  /** Whether one of our listeners is at this address, whatever its port. Loopback is everybody's. */
  isHost(address: Address): boolean;
  /** Looks the names of our listeners up again. Throws while it is unknown where one of them leads. */
  lookUp(resolve: (hostname: string) => Promise<readonly string[]>): Promise<void>;
}

/** The settings that say where parts of this installation listen. */
interface OwnSettings {
  readonly HOST: string;
  readonly PORT: number;
  readonly BASE_URL?: string | undefined;
  readonly OAUTH_URL?: string | undefined;
  readonly OAUTH_HOST?: string;
  readonly OAUTH_PORT?: number;
  readonly NATS_URL: string;
  readonly DATABASE_URL: string;
  readonly OTEL_EXPORTER_OTLP_ENDPOINT?: string | undefined;
  readonly EGRESS_PROXY?: string | undefined;
  readonly HEALTH_PORT?: number | undefined;
}

const defaultPorts: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'nats:': 4222,
  'tls:': 4222,
  'postgres:': 5432,
  'postgresql:': 5432,
};
/** Clustering and monitoring: no setting names them, and neither asks who calls. */
const natsPorts = [6222, 8222];
const webPorts = [':80', ':443'];

/**
 * Where everything of this installation listens that its settings know. A call that a user
 * chooses must reach none of it: they trust callers inside the installation.
 */
export function ownAddressesOf(settings: OwnSettings): OwnPlaces {
  const { HOST, PORT, OAUTH_HOST = '', OAUTH_PORT = 0, HEALTH_PORT = 0 } = settings;
  const bound = [
    { host: HOST, port: PORT },
    { host: OAUTH_HOST, port: OAUTH_PORT },
    { host: '0.0.0.0', port: HEALTH_PORT },
  ];
  const web = [
    ...placesOf(settings.OAUTH_URL),
    ...placesOf(settings.OTEL_EXPORTER_OTLP_ENDPOINT),
    ...placesOf(settings.EGRESS_PROXY),
  ];
  const isShared = (place: string) => webPorts.some((port) => place.endsWith(port));
  return {
    listeners: [
      ...bound.flatMap(({ host, port }) => (port === 0 ? [] : [`${host}:${port}`])),
      ...web.filter((place) => !isShared(place)),
      ...placesOf(settings.DATABASE_URL),
      ...settings.NATS_URL.split(',').flatMap((url) => placesOf(url, natsPorts)),
    ],
    names: [...placesOf(settings.BASE_URL), ...web.filter(isShared)],
  };
}

/** `host:port` of a URL, also of one that names several hosts, and further ports of the same. */
function placesOf(text: string | undefined, morePorts: readonly number[] = []): string[] {
  const url = text === undefined ? null : URL.parse(text.trim());
  const port = url === null ? 0 : Number(url.port) || (defaultPorts[url.protocol] ?? 0);
  // A Postgres on a Unix socket has no host.
  if (url === null || url.hostname === '' || port === 0) return [];
  return url.hostname
    .split(',')
    .flatMap((host) => [port, ...morePorts].map((each) => `${host}:${each}`));
}

interface Place {
  readonly host: string;
  readonly port: number;
}

const wildcards = new Set(['0.0.0.0', '::', '*', '']);

/**
 * Reads `host:port` entries. They are refused even when EGRESS_ALLOW opens their network: a call that
 * comes back to us would arrive as a local one, and can loop.
 */
export function createOwnAddresses({ listeners, names }: OwnPlaces): OwnAddresses {
  const all = listeners.map(parsePlace);
  const places = new Set([...all, ...names.map(parsePlace)].map(textOf));
  const wildcardPorts = new Set<number>();
  const hosts = new Set<string>();
  const named: Place[] = [];
  for (const { host, port } of all) {
    if (wildcards.has(host)) wildcardPorts.add(port);
    else if (host === 'localhost') for (const ip of loopback) places.add(`${ip}:${port}`);
    else if (parseAddress(host) === undefined) named.push({ host, port });
    else hosts.add(host);
  }
  const toLookUp = [...new Set(named.map(({ host }) => host))];
  let found: ReadonlyMap<string, readonly string[]> = new Map();
  let foundHosts: ReadonlySet<string> = new Set();
  let foundPlaces: ReadonlySet<string> = new Set();

  return {
    coversHost: (host, port) => places.has(`${host}:${port}`),
    coversAddress: (address, port) =>
      [address, ...embeddedAddresses(address)].some((each) => {
        const place = `${each.toString()}:${port}`;
        if (places.has(place) || foundPlaces.has(place)) return true;
        return wildcardPorts.has(port) && isLocal(each);
      }),
    hasPort: (port) => named.some((each) => each.port === port),
    isHost: (address) =>
      [address, ...embeddedAddresses(address)].some((each) => {
        const host = each.toString();
        return each.range() !== 'loopback' && (hosts.has(host) || foundHosts.has(host));
      }),
    async lookUp(resolve) {
      if (toLookUp.length === 0) return;
      const answers = await Promise.all(
        toLookUp.map(
          async (host) => [host, await addressesOf(host, resolve, found.get(host))] as const,
        ),
      );
      found = new Map(answers);
      foundHosts = new Set(answers.flatMap(([, addresses]) => addresses));
      foundPlaces = new Set(
        named.flatMap(({ host, port }) => found.get(host)?.map((ip) => `${ip}:${port}`) ?? []),
      );
    },
  };
}

const loopback = ['127.0.0.1', '::1'];

function parsePlace(entry: string): Place {
  const at = entry.lastIndexOf(':');
  const written = entry
    .slice(0, at)
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
  const port = Number(entry.slice(at + 1));
  if (at < 0 || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new TypeError(`own address "${entry}" is not host:port`);
  }
  return { host: parseAddress(written)?.toString() ?? written, port };
}

function textOf({ host, port }: Place): string {
  return `${host}:${port}`;
}

/**
 * Where a name of ours leads now, or led when it was last known. A name that does not exist leads
 * nowhere; one that cannot be looked up might lead anywhere.
 */
async function addressesOf(
  host: string,
  resolve: (hostname: string) => Promise<readonly string[]>,
  known: readonly string[] | undefined,
): Promise<readonly string[]> {
  try {
    const answers = (await resolve(host)).flatMap((text) => parseAddress(text) ?? []);
    if (answers.length === 0) return known ?? [];
    return answers.flatMap((each) =>
      [each, ...embeddedAddresses(each)].map((address) => address.toString()),
    );
  } catch (error) {
    if (known !== undefined) return known;
    if ((error as { code?: unknown }).code === 'ENOTFOUND') return [];
    throw error;
  }
}

function isLocal(address: Address): boolean {
  const range = address.range();
  if (range === 'loopback' || range === 'unspecified') return true;
  const text = address.toString();
  return Object.values(networkInterfaces()).some((list) =>
    list?.some((local) => parseAddress(local.address)?.toString() === text),
  );
}
