import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

import { addressBlock } from '#addresses';
import { errorCodes } from '#errors';

interface ConnectionLimits {
  /** The most open connections per address, or per /64 network of IPv6; 0 means no limit. */
  readonly perAddressMax: number;
  /**
   * Addresses in the format of the setting `TRUSTED_PROXIES`. They are not limited, because a proxy
   * opens the connections of many clients.
   */
  readonly trustedProxies: readonly string[];
}

const retrySeconds = 5;
const refusalBody = JSON.stringify({
  error: 'rate_limited',
  message: 'Too many connections from this address are open; close some, or wait.',
  retry_after: retrySeconds,
});
const refusalResponse = [
  `HTTP/1.1 ${errorCodes.rate_limited.httpStatus} Too Many Requests`,
  'Content-Type: application/json; charset=utf-8',
  `Content-Length: ${Buffer.byteLength(refusalBody)}`,
  `Retry-After: ${retrySeconds}`,
  'X-Content-Type-Options: nosniff',
  'Connection: close',
  '',
  refusalBody,
].join('\r\n');

/** Refuses connections beyond the limit per address, before anything is read from them. */
export function limitConnections(
  server: Server,
  { perAddressMax, trustedProxies }: ConnectionLimits,
): void {
  if (perAddressMax === 0) return;
  const isProxy = createProxyCheck(trustedProxies);
  const openCountsByNetwork = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isProxy(remoteAddress)) return;
    const clientNetwork = addressBlock(remoteAddress);
    const count = (openCountsByNetwork.get(clientNetwork) ?? 0) + 1;
    openCountsByNetwork.set(clientNetwork, count);
    socket.once('close', () => {
      const remainingCount = (openCountsByNetwork.get(clientNetwork) ?? 1) - 1;
      if (remainingCount === 0) openCountsByNetwork.delete(clientNetwork);
      else openCountsByNetwork.set(clientNetwork, remainingCount);
    });
    // The connection is destroyed even if the client never reads the answer.
    if (count > perAddressMax) socket.end(refusalResponse, () => socket.destroy());
  });
}

/**
 * The names of address ranges that Fastify's `trustProxy` accepts besides addresses and CIDR
 * ranges.
 */
const namedRanges: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

/**
 * Creates a function that checks whether an address is a proxy. Throws if an entry cannot be read.
 */
export function createProxyCheck(proxies: readonly string[]): (address: string) => boolean {
  const ranges = proxies
    .flatMap((each) => namedRanges[each] ?? [each])
    .map((each) => ipaddr.parseCIDR(each.includes('/') ? each : toSingleAddressRange(each)));
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsedAddress = ipaddr.process(address);
    return ranges.some(([range, bits]) => {
      return parsedAddress.kind() === range.kind() && parsedAddress.match(range, bits);
    });
  };
}

function toSingleAddressRange(address: string): string {
  return `${address}/${ipaddr.parse(address).kind() === 'ipv4' ? 32 : 128}`;
}
