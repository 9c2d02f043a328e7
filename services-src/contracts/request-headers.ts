/**
 * Headers of requests to upstreams that callers, templates and secrets may not set. One list for
 * all who build or send one: a name that one of them overlooked would get through.
 */

/** Those of the connection (RFC 9110 §7.6.1), and those by which a proxy speaks of its own client. */
const connection = new Set([
  'connection',
  'content-length',
  'expect',
  'forwarded',
  'host',
  'http2-settings',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
  'x-real-ip',
]);
const connectionPrefix = /^(?:proxy|x-forwarded)-/;

/** Set by the gateway, which knows what it can decode and what it sends. */
const ofTheGateway = new Set(['accept-encoding', 'content-encoding']);

/** By these upstreams and the proxies before them take a request for one with another method, host or path. */
const overrides = [
  /^x-(?:http-)?(?:method|host)(?:-override)?$/,
  /^(?:http-method|(?:http-)?(?:method|host)-override)$/,
  /^x-(?:http-)?(?:path|uri|url|query)-override$/,
  /^x-(?:envoy-)?(?:original|rewrite|override)-/,
  /^(?:x-)?(?:base-url|request-uri)$/,
  /^x-(?:http-destinationurl|proxy-url)$/,
];

/** A header that goes with the connection: left out wherever it comes from. */
export function isConnectionHeader(name: string): boolean {
  const plain = plainName(name);
  return name.startsWith(':') || connection.has(plain) || connectionPrefix.test(plain);
}

/** A header that would make the request another one than was decided on. */
export function isOverridingHeader(name: string): boolean {
  const plain = plainName(name);
  return overrides.some((pattern) => pattern.test(plain));
}

export function isForbiddenHeader(name: string): boolean {
  return isConnectionHeader(name) || isOverridingHeader(name) || ofTheGateway.has(plainName(name));
}

/** CGI and WSGI servers read `X_Forwarded.Host` as `X-Forwarded-Host`. */
function plainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-');
}
