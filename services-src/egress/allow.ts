import ipaddr from 'ipaddr.js';

import { ConfigError } from '#config';
import { parseAddress } from './address.ts';
import type { Address } from './address.ts';

/**
 * The destinations that the operator allowed with EGRESS_ALLOW. They may be called although their
 * addresses are private, and by plain http.
 */
export interface EgressAllow {
  /** `host:port` entries, as URL authorities with the port always written. */
  readonly hosts: ReadonlySet<string>;
  readonly networks: readonly AllowedNetwork[];
}

export interface AllowedNetwork {
  readonly range: readonly [Address, number];
  /** Undefined means every port. */
  readonly port: number | undefined;
}

/** Parses EGRESS_ALLOW. Throws on any unclear entry, because a wrong guess could open a network. */
export function parseEgressAllow(text: string): EgressAllow {
  const hosts = new Set<string>();
  const networks: AllowedNetwork[] = [];
  for (const rawEntry of text.split(',')) {
    const entry = rawEntry.trim();
    if (entry === '') continue;
    if (entry.includes('/')) networks.push(parseNetwork(entry));
    else hosts.add(parseHostPort(entry));
  }
  return { hosts, networks };
}

export function allowsHost(allow: EgressAllow, host: string, port: number): boolean {
  return allow.hosts.has(`${host}:${port}`);
}

export function allowsAddress(allow: EgressAllow, address: Address, port: number): boolean {
  return allow.networks.some(
    (network) =>
      (network.port === undefined || network.port === port) &&
      network.range[0].kind() === address.kind() &&
      address.match(network.range[0], network.range[1]),
  );
}

/**
 * Whether EGRESS_ALLOW lists a network for this port. If not, plain http to a host that is not
 * listed can be refused without a look-up.
 */
export function allowsSomeAddress(allow: EgressAllow, port: number): boolean {
  return allow.networks.some((network) => network.port === undefined || network.port === port);
}

function parseNetwork(entry: string): AllowedNetwork {
  const match = /^\[?([0-9a-fA-F.:]+)\]?\/(\d{1,3})(?::(\d{1,5}))?$/.exec(entry);
  const address = match?.[1] === undefined ? undefined : parseAddress(match[1]);
  const prefixBits = Number(match?.[2]);
  if (
    match === null ||
    address === undefined ||
    prefixBits > (address.kind() === 'ipv4' ? 32 : 128)
  ) {
    throw new ConfigError(
      `EGRESS_ALLOW: "${entry}" is not a network like 10.0.0.0/8 or fd00::/8:443`,
    );
  }
  const port = match[3] === undefined ? undefined : parsePort(match[3], entry);
  return { range: ipaddr.parseCIDR(`${address.toString()}/${prefixBits}`), port };
}

function parseHostPort(entry: string): string {
  const match = /^([^\s:/@[\]*]+|\[[0-9a-fA-F.:]+\]):(\d{1,5})$/.exec(entry);
  const url = match === null ? null : URL.parse(`https://${match[1]}`);
  if (match?.[2] === undefined || url === null || url.pathname !== '/' || url.search !== '') {
    throw new ConfigError(
      `EGRESS_ALLOW: "${entry}" is neither host:port nor a network like 10.0.0.0/8 or 127.0.0.1/32:8080`,
    );
  }
  return `${url.hostname.replace(/\.$/, '')}:${parsePort(match[2], entry)}`;
}

function parsePort(text: string, entry: string): number {
  const port = Number(text);
  if (port < 1 || port > 65_535)
    throw new ConfigError(`EGRESS_ALLOW: "${entry}" has no valid port`);
  return port;
}
