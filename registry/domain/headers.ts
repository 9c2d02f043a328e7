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
const reserved = new Set([
  ...transport,
  'authorization',
  'content-encoding',
  'cookie',
  'expect',
  'forwarded',
  'http2-settings',
  'proxy-authorization',
  'trailer',
  'upgrade',
  'via',
  'x-http-method',
  'x-http-method-override',
  'x-method-override',
  'x-real-ip',
]);

/** Headers the executor sets itself, or that would change which request it is. */
export function isReservedHeader(name: string): boolean {
  const lower = name.toLowerCase();
  // CGI servers read `x_http_method_override` as the same header.
  const isReserved = reserved.has(lower.replaceAll('_', '-'));
  return isReserved || lower.startsWith('proxy-') || lower.startsWith('x-forwarded-');
}

/** Headers that every request has or needs none of: a parameter for them asks callers for nothing. */
export function isTransportHeader(name: string): boolean {
  return transport.has(name.toLowerCase());
}
