import { networkInterfaces } from 'node:os';

import { embeddedAddresses, parseAddress } from './address.ts';
import type { Address } from './address.ts';

/** The places where this installation itself listens. */
export interface OwnAddresses {
  coversHost(host: string, port: number): boolean;
  coversAddress(address: Address, port: number): boolean;
}

/** The settings that say where parts of this installation listen. */
interface OwnSettings {
  readonly HOST: string;
  readonly PORT: number;
  readonly BASE_URL?: string | undefined;
  readonly OAUTH_URL?: string | undefined;
  readonly NATS_URL: string;
  readonly DATABASE_URL: string;
}

const defaultPorts: Readonly<Record<string, number>> = {
  'http:': 80,
  'https:': 443,
  'nats:': 4222,
  'tls:': 4222,
  'postgres:': 5432,
  'postgresql:': 5432,
};

/**
 * Where the gateway, auth's OAuth listener, NATS and Postgres listen, as `host:port`. A call that
 * a user chooses must reach none of them: they trust callers inside the installation.
 */
export function ownAddressesOf(settings: OwnSettings): string[] {
  const { HOST, PORT, BASE_URL, OAUTH_URL, NATS_URL, DATABASE_URL } = settings;
  const urls = [BASE_URL, OAUTH_URL, DATABASE_URL, ...NATS_URL.split(',')];
  return [
    ...(PORT === 0 ? [] : [`${HOST}:${PORT}`]),
    ...urls.flatMap((text) => {
      const url = text === undefined ? null : URL.parse(text.trim());
      const port = url === null ? 0 : Number(url.port) || (defaultPorts[url.protocol] ?? 0);
      // A Postgres on a Unix socket has no host.
      return url === null || url.hostname === '' || port === 0 ? [] : [`${url.hostname}:${port}`];
    }),
  ];
}

const wildcards = new Set(['0.0.0.0', '::', '*', '']);

/**
 * Reads `host:port` entries. They are refused even when EGRESS_ALLOW opens their network: a call that
 * comes back to us would arrive as a local one, and can loop.
 */
export function createOwnAddresses(entries: readonly string[]): OwnAddresses {
  const places = new Set<string>();
  const wildcardPorts = new Set<number>();
  for (const entry of entries) {
    const at = entry.lastIndexOf(':');
    const host = entry
      .slice(0, at)
      .replace(/^\[|\]$/g, '')
      .toLowerCase();
    const port = Number(entry.slice(at + 1));
    if (at < 0 || !Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new TypeError(`own address "${entry}" is not host:port`);
    }
    if (wildcards.has(host)) wildcardPorts.add(port);
    else places.add(`${parseAddress(host)?.toString() ?? host}:${port}`);
    if (host === 'localhost') for (const ip of ['127.0.0.1', '::1']) places.add(`${ip}:${port}`);
  }
  return {
    coversHost: (host, port) => places.has(`${host}:${port}`),
    coversAddress: (address, port) =>
      [address, ...embeddedAddresses(address)].some(
        (each) =>
          places.has(`${each.toString()}:${port}`) || (wildcardPorts.has(port) && isLocal(each)),
      ),
  };
}

function isLocal(address: Address): boolean {
  const range = address.range();
  if (range === 'loopback' || range === 'unspecified') return true;
  const text = address.toString();
  return Object.values(networkInterfaces()).some((list) =>
    list?.some((local) => parseAddress(local.address)?.toString() === text),
  );
}
