import { networkInterfaces } from 'node:os';

import { embeddedAddressesOf, parseAddress } from './address.ts';
import type { Address } from './address.ts';

/** The hosts and ports at which this installation listens. */
export interface OwnPlaces {
  /** `host:port` of each listener. A name stands for the addresses that it resolves to. */
  readonly listeners: readonly string[];
  /**
   * `host:port` entries that are refused by name only, because other host names may share their
   * address, for example that of a web server.
   */
  readonly names: readonly string[];
}

/** Answers whether this installation listens at a target, as far as that is known. */
export interface OwnAddresses {
  /** Whether the host, as written, is a listener on this port. */
  coversHost(host: string, port: number): boolean;
  /**
   * Whether the address is a listener on this port, by the last look-up of the listeners' names.
   */
  coversAddress(address: Address, port: number): boolean;
  /** Whether a listener that is given by name has this port. */
  hasPort(port: number): boolean;
  /**
   * Whether any listener has this address, on any port. Loopback addresses do not count, because
   * other programs use them too.
   */
  isHost(address: Address): boolean;
  /** Looks up the listeners' names again. Throws while the address of one of them is unknown. */
  lookUp(resolve: (hostname: string) => Promise<readonly string[]>): Promise<void>;
}

/** The settings that say where parts of this installation listen. */
export interface OwnSettings {
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
};
/**
 * The ports of NATS for clustering and monitoring. No setting names them, and neither authenticates
 * callers.
 */
const natsPorts = [6222, 8222];
const webPorts = [':80', ':443'];

/**
 * All listeners of this installation that its settings name. A user's call must not reach them,
 * because they trust callers inside the installation.
 */
export function ownAddressesOf(settings: OwnSettings): OwnPlaces {
  const { HOST, PORT, OAUTH_HOST = '', OAUTH_PORT = 0, HEALTH_PORT = 0 } = settings;
  const listeningAddresses = [
    { host: HOST, port: PORT },
    { host: OAUTH_HOST, port: OAUTH_PORT },
    { host: '0.0.0.0', port: HEALTH_PORT },
  ];
  const webPlaces = [
    ...placesOf(settings.OAUTH_URL),
    ...placesOf(settings.OTEL_EXPORTER_OTLP_ENDPOINT),
    ...placesOf(settings.EGRESS_PROXY),
  ];
  const isShared = (place: string) => webPorts.some((port) => place.endsWith(port));
  return {
    listeners: [
      ...listeningAddresses.flatMap(({ host, port }) => (port === 0 ? [] : [`${host}:${port}`])),
      ...webPlaces.filter((place) => !isShared(place)),
      ...databasePlacesOf(settings.DATABASE_URL),
      ...placesOf(settings.NATS_URL, natsPorts),
    ],
    names: [...placesOf(settings.BASE_URL), ...webPlaces.filter(isShared)],
  };
}

/**
 * `host:port` of each host in a URL, for the host's port and for `morePorts`. A URL of servers may
 * name several hosts, separated by commas. Each host may have a port, and may repeat the scheme, the
 * credentials and a slash at the end.
 */
function placesOf(text: string | undefined, morePorts: readonly number[] = []): string[] {
  const [, protocol = '', hosts = ''] = /^([a-z]+:)\/\/([^?#]*)/i.exec(text?.trim() ?? '') ?? [];
  return hosts.split(',').flatMap((entry) => {
    const [place = ''] = entry.replace(/^\s*[a-z]+:\/\//i, '').split('/', 1);
    const url = URL.parse(`${protocol}//${place.slice(place.lastIndexOf('@') + 1).trim()}`);
    const port = Number(url?.port) || (defaultPorts[protocol.toLowerCase()] ?? 0);
    if (url === null || url.hostname === '' || port === 0) return [];
    return [port, ...morePorts].map((each) => `${url.hostname}:${each}`);
  });
}

/**
 * `host:port` of Postgres. The parameter `host` goes before the host of the URL, and may name the
 * folder of a Unix socket instead. Without either, the driver connects to this machine.
 */
function databasePlacesOf(text: string): string[] {
  const url = URL.parse(text);
  const hosts = url?.searchParams.get('host') || url?.hostname || 'localhost';
  if (hosts.startsWith('/')) return [];
  return hosts.split(',').map((host) => `${host}:${url?.port || 5432}`);
}

interface Place {
  readonly host: string;
  readonly port: number;
}

const wildcards = new Set(['0.0.0.0', '::', '*', '']);

/**
 * Parses `host:port` entries. Calls to them are refused even when EGRESS_ALLOW lists their network:
 * a call that comes back to the installation would look like a local one, and could loop.
 */
export function createOwnAddresses({ listeners, names }: OwnPlaces): OwnAddresses {
  const listenerPlaces = listeners.map(parsePlace);
  const ownPlaces = new Set([...listenerPlaces, ...names.map(parsePlace)].map(textOf));
  const wildcardPorts = new Set<number>();
  const hosts = new Set<string>();
  const namedPlaces: Place[] = [];
  for (const { host, port } of listenerPlaces) {
    if (wildcards.has(host)) wildcardPorts.add(port);
    else if (host === 'localhost') for (const ip of loopback) ownPlaces.add(`${ip}:${port}`);
    else if (parseAddress(host) === undefined) namedPlaces.push({ host, port });
    else hosts.add(host);
  }
  const namesToLookUp = [...new Set(namedPlaces.map(({ host }) => host))];
  let addressesByName: ReadonlyMap<string, readonly string[]> = new Map();
  let foundHosts: ReadonlySet<string> = new Set();
  let foundPlaces: ReadonlySet<string> = new Set();

  return {
    coversHost: (host, port) => ownPlaces.has(`${host}:${port}`),
    coversAddress: (address, port) =>
      [address, ...embeddedAddressesOf(address)].some((each) => {
        const addressAndPort = `${each.toString()}:${port}`;
        if (ownPlaces.has(addressAndPort) || foundPlaces.has(addressAndPort)) return true;
        return wildcardPorts.has(port) && isLocal(each);
      }),
    hasPort: (port) => namedPlaces.some((each) => each.port === port),
    isHost: (address) =>
      [address, ...embeddedAddressesOf(address)].some((each) => {
        const host = each.toString();
        return each.range() !== 'loopback' && (hosts.has(host) || foundHosts.has(host));
      }),
    async lookUp(resolve) {
      if (namesToLookUp.length === 0) return;
      const answers = await Promise.all(
        namesToLookUp.map(
          async (host) =>
            [host, await addressesOf(host, resolve, addressesByName.get(host))] as const,
        ),
      );
      addressesByName = new Map(answers);
      foundHosts = new Set(answers.flatMap(([, addresses]) => addresses));
      foundPlaces = new Set(
        namedPlaces.flatMap(
          ({ host, port }) => addressesByName.get(host)?.map((ip) => `${ip}:${port}`) ?? [],
        ),
      );
    },
  };
}

const loopback = ['127.0.0.1', '::1'];

function parsePlace(entry: string): Place {
  const colonIndex = entry.lastIndexOf(':');
  const writtenHost = entry
    .slice(0, colonIndex)
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
  const port = Number(entry.slice(colonIndex + 1));
  if (colonIndex < 0 || !Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new TypeError(`own address "${entry}" is not host:port`);
  }
  const address = parseAddress(writtenHost);
  const [ipv4] = address === undefined ? [] : embeddedAddressesOf(address);
  return { host: (ipv4 ?? address)?.toString() ?? writtenHost, port };
}

/** The place as targets of calls are written, which have no dot at the end of their name. */
function textOf({ host, port }: Place): string {
  return `${host.replace(/\.$/, '')}:${port}`;
}

/**
 * The addresses of a listener's host name. When DNS fails, these are the last known addresses;
 * without any, the function throws, because the name might have any address. A name that does not
 * exist has no addresses.
 */
async function addressesOf(
  host: string,
  resolve: (hostname: string) => Promise<readonly string[]>,
  knownAddresses: readonly string[] | undefined,
): Promise<readonly string[]> {
  try {
    const answers = (await resolve(host)).flatMap((text) => parseAddress(text) ?? []);
    if (answers.length === 0) return knownAddresses ?? [];
    return answers.flatMap((each) =>
      [each, ...embeddedAddressesOf(each)].map((address) => address.toString()),
    );
  } catch (error) {
    if (knownAddresses !== undefined) return knownAddresses;
    if ((error as { code?: unknown }).code === 'ENOTFOUND') return [];
    throw error;
  }
}

function isLocal(address: Address): boolean {
  const range = address.range();
  if (range === 'loopback' || range === 'unspecified') return true;
  const text = address.toString();
  return Object.values(networkInterfaces()).some((interfaceAddresses) =>
    interfaceAddresses?.some(
      (interfaceAddress) => parseAddress(interfaceAddress.address)?.toString() === text,
    ),
  );
}
