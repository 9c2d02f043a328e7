import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import ipaddr from 'ipaddr.js';

import { addressBlock } from '#addresses';
import { errorCodes } from '#errors';

interface ConnectionLimits {
  /** Open connections from one address, or one /64 of IPv6; 0 = no limit. */
  readonly perAddressMax: number;
  /** As `TRUSTED_PROXIES` is written: from these come the connections of everybody. */
  readonly trustedProxies: readonly string[];
}

const retrySeconds = 5;
const body = JSON.stringify({
  error: 'rate_limited',
  message: 'Too many connections from this address are open; close some, or wait.',
  retry_after: retrySeconds,
});
const refusal = [
  `HTTP/1.1 ${errorCodes.rate_limited.httpStatus} Too Many Requests`,
  'Content-Type: application/json; charset=utf-8',
  `Content-Length: ${Buffer.byteLength(body)}`,
  `Retry-After: ${retrySeconds}`,
  'X-Content-Type-Options: nosniff',
  'Connection: close',
  '',
  body,
].join('\r\n');

/** Refuses connections beyond what one address may have open, before anything that it sends is read. */
export function limitConnections(
  server: Server,
  { perAddressMax, trustedProxies }: ConnectionLimits,
): void {
  if (perAddressMax === 0) return;
  const isProxy = proxyCheck(trustedProxies);
  const open = new Map<string, number>();
  server.on('connection', (socket: Socket) => {
    const { remoteAddress } = socket;
    if (remoteAddress === undefined || isProxy(remoteAddress)) return;
    const block = addressBlock(remoteAddress);
    const count = (open.get(block) ?? 0) + 1;
    open.set(block, count);
    socket.once('close', () => {
      const left = (open.get(block) ?? 1) - 1;
      if (left === 0) open.delete(block);
      else open.set(block, left);
    });
    // One that does not read the answer must not stay.
    if (count > perAddressMax) socket.end(refusal, () => socket.destroy());
  });
}

/** The names that the framework knows besides addresses and CIDRs. */
const named: Readonly<Record<string, readonly string[]>> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
};

function proxyCheck(proxies: readonly string[]): (address: string) => boolean {
  const ranges = proxies
    .flatMap((each) => named[each] ?? [each])
    .map((each) => ipaddr.parseCIDR(each.includes('/') ? each : wholeAddress(each)));
  return (address) => {
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return ranges.some(([range, bits]) => {
      return parsed.kind() === range.kind() && parsed.match(range, bits);
    });
  };
}

function wholeAddress(address: string): string {
  return `${address}/${ipaddr.parse(address).kind() === 'ipv4' ? 32 : 128}`;
}
