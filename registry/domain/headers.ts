/** RFC 9110 §5.6.2. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/.test(name);
}

const reserved = new Set([
  'authorization',
  'connection',
  'content-length',
  'content-encoding',
  'cookie',
  'expect',
  'forwarded',
  'host',
  'keep-alive',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'user-agent',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
]);

/** Headers the executor sets itself, or that would change which request it is. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  return reserved.has(lower) || lower.startsWith('proxy-') || lower.startsWith('x-forwarded-');
}
