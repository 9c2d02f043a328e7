import ipaddr from 'ipaddr.js';

import type { EgressAllow } from './allow.ts';

/**
 * Creates a check whether a service may use plain http to a host, which is written as in permission
 * keys. It may only when EGRESS_ALLOW names the host, or lists a network that contains the host's
 * literal address.
 */
export function createPlainHttpCheck(allow: EgressAllow): (host: string) => boolean {
  return (host) => {
    const url = URL.parse(`http://${host}`);
    if (url === null) return false;
    const port = url.port === '' ? 80 : Number(url.port);
    if (allow.hosts.has(`${url.hostname}:${port}`)) return true;
    const literal = url.hostname.replace(/^\[(.*)\]$/, '$1');
    if (!ipaddr.isValid(literal)) return false;
    const address = ipaddr.parse(literal);
    return allow.networks.some(
      (network) =>
        (network.port === undefined || network.port === port) &&
        network.range[0].kind() === address.kind() &&
        address.match(network.range[0], network.range[1]),
    );
  };
}
