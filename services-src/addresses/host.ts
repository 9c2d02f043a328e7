import ipaddr from 'ipaddr.js';

const label = /^[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?$/;

/**
 * Whether a host can be one that a request goes to: a name of DNS labels in lower-case A-label form
 * (RFC 1035 §2.3.1, `_` as many use it), or an address, an IPv6 one with or without brackets.
 */
export function isHost(host: string): boolean {
  if (ipaddr.isValid(host.replace(/^\[(.*)\]$/, '$1'))) return true;
  return (
    host.length <= 253 && host.split('.').every((part) => part.length <= 63 && label.test(part))
  );
}
