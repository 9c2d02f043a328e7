import ipaddr from 'ipaddr.js';

import type { EgressAllow } from './allow.ts';

/**
 * Whether a host, as it stands in keys, may be a service's although it is reached by plain
 * http: only where EGRESS_ALLOW names it, or names a network it is written as an address of.
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
