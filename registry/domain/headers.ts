import { isForbiddenHeader } from '#contracts/request-headers';

/** RFC 9110 §5.6.2. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
}

const transport = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'te',
  'transfer-encoding',
  'user-agent',
]);
/** Those that the executor or a credential sets. */
const reserved = new Set(['authorization', 'cookie', 'user-agent']);

/** Headers the executor sets itself, or that would change which request it is. */
export function isReservedHeader(name: string): boolean {
  return isForbiddenHeader(name) || reserved.has(name.toLowerCase().replaceAll('_', '-'));
}

/** Headers that every request has or needs none of: a parameter for them asks callers for nothing. */
export function isTransportHeader(name: string): boolean {
  return transport.has(name.toLowerCase());
}
