import ipaddr from 'ipaddr.js';

const labelPattern = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;

/**
 * Whether a request can go to this host: a name of DNS labels in lower-case A-label form (RFC 1035
 * §2.3.1, plus the widely used `_`), an IPv4 address, or an IPv6 address with or without brackets.
 */
export function isHost(host: string): boolean {
  if (ipaddr.isValid(host.replace(/^\[(.*)\]$/, '$1'))) return true;
  return (
    host.length <= 253 &&
    host.split('.').every((part) => part.length <= 63 && labelPattern.test(part))
  );
}
