import { isForbiddenHeader } from '#contracts/request-headers';

const transportHeaders = new Set([
  'accept-encoding',
  'connection',
  'content-length',
  'host',
  'keep-alive',
  'te',
  'transfer-encoding',
  'user-agent',
]);
/** The headers that the executor or a credential sets; a parameter may not set them. */
const reservedHeaders = new Set(['authorization', 'cookie', 'user-agent']);

/**
 * Whether a parameter may not set this header, because the executor sets it or because it would
 * change which request is sent.
 */
export function isReservedHeader(name: string): boolean {
  return isForbiddenHeader(name) || reservedHeaders.has(name.toLowerCase().replaceAll('_', '-'));
}

/** Whether HTTP itself handles this header, so that it must not become a parameter. */
export function isTransportHeader(name: string): boolean {
  return transportHeaders.has(name.toLowerCase());
}
