/**
 * Headers of requests to upstreams: what a name may be, and which ones callers, templates and
 * secrets may not set. Everything that builds or sends a request uses this one list, so that no
 * part can overlook a name.
 */

/** Whether RFC 9110 §5.6.2 allows the name for a header: it is a token. */
export function isHeaderName(name: string): boolean {
  return /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/.test(name);
}

/**
 * Headers of one connection (RFC 9110 §7.6.1), and headers by which a proxy describes its client.
 */
const connectionHeaders = new Set([
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

/**
 * The gateway sets these headers itself: it knows the encoding of what it sends, and which
 * encodings it can decode.
 */
const gatewayHeaders = new Set(['accept-encoding', 'content-encoding']);

/**
 * Headers that make some upstreams and proxies treat a request as if it had another method, host or
 * path.
 */
const overridingPatterns = [
  /^x-(?:http-)?(?:method|host)(?:-override)?$/,
  /^(?:http-method|(?:http-)?(?:method|host)-override)$/,
  /^x-(?:http-)?(?:path|uri|url|query)-override$/,
  /^x-(?:envoy-)?(?:original|rewrite|override)-/,
  /^(?:x-)?base-url$/,
  // Variables of CGI (RFC 3875 §4.1): Gunicorn before 22 takes `SCRIPT_NAME` from any client.
  /^(?:x-)?(?:script-name|path-(?:info|translated)|request-(?:uri|method)|query-string|server-name)$/,
  /^x-(?:http-destinationurl|proxy-url)$/,
  // Headers that nginx, Rack and Next.js accept from the proxy in front of them.
  /^x-(?:accel-mapping|sendfile-type)$/,
  /^x-(?:matched|invoke)-path$/,
  /^x-middleware-rewrite$/,
];

/**
 * Headers that name a second resource, which the upstream then reads or replaces:
 * `x-amz-copy-source` of S3 and the equivalents of Google, Azure, Alibaba and others; `X-Copy-From`
 * of OpenStack; headers that link one object to another; and `Destination` of WebDAV (RFC 4918
 * §10.3). Some of the headers make the upstream write further objects: Swift's for versions and
 * copies, Tencent's for processed pictures, and those with which S3 and MinIO unpack an archive.
 * The permission key names only the resource in the path.
 */
const secondResources = [
  /^x-(?:[a-z0-9]+-)*(?:copy|move|rename)-source(?:-|$)/,
  /^x-(?:[a-z0-9]+-)*copy-from(?:-|$)/,
  /^x-(?:[a-z0-9]+-)*symlink-target(?:-|$)/,
  /^x-object-manifest$/,
  /^destination(?:-account)?$/,
  /^x-(?:versions|history)-location$/,
  /^x-container-sync-to$/,
  /^pic-operations$/,
  /^x-(?:amz|minio)-(?:[a-z0-9]+-)*snowball(?:-|$)/,
  /^x-minio-extract$/,
];

/**
 * Headers that make the path refer to a resource of another account or namespace: Dropbox, Vault
 * and Consul.
 */
const otherAccounts = [
  /^dropbox-api-(?:path-root|select-user|select-admin)$/,
  /^x-(?:vault|consul)-namespace$/,
];

/**
 * Headers by which a request acts as somebody else or for another account: Stripe, Kubernetes, GitLab
 * and Grafana. An action may have one as a parameter, which its template then describes.
 */
const otherActors = [
  /^stripe-account$/,
  /^impersonate-(?:user|group|uid|extra(?:-|$))/,
  /^sudo$/,
  /^x-grafana-org-id$/,
];

/**
 * Whether a header belongs to one connection; such headers are never passed on, in either
 * direction.
 */
export function isConnectionHeader(name: string): boolean {
  const normalizedName = toPlainName(name);
  return (
    name.startsWith(':') ||
    connectionHeaders.has(normalizedName) ||
    connectionPrefix.test(normalizedName)
  );
}

/**
 * Whether a header would make an upstream treat the request as another request than the one that
 * policy decided on.
 */
export function isOverridingHeader(name: string): boolean {
  const normalizedName = toPlainName(name);
  return overridingPatterns.some((pattern) => pattern.test(normalizedName));
}

/** Whether a header names a second resource, of which policy knows nothing. */
function namesSecondResource(name: string): boolean {
  const normalizedName = toPlainName(name);
  return secondResources.some((pattern) => pattern.test(normalizedName));
}

function namesOtherAccount(name: string): boolean {
  const normalizedName = toPlainName(name);
  return otherAccounts.some((pattern) => pattern.test(normalizedName));
}

export function isForbiddenHeader(name: string): boolean {
  return (
    isConnectionHeader(name) ||
    isOverridingHeader(name) ||
    namesSecondResource(name) ||
    namesOtherAccount(name) ||
    gatewayHeaders.has(toPlainName(name))
  );
}

/** Why callers, templates and secrets may not set this header; undefined when they may. */
export function refusalOfHeaderName(name: string): string | undefined {
  if (!isHeaderName(name)) return 'is not a header name';
  if (isOverridingHeader(name))
    return 'would change the method, host or path of the request, which is refused';
  if (namesSecondResource(name))
    return 'names a second resource, which the permission key does not name; read that one with a call of its own, then write what it holds with another';
  if (namesOtherAccount(name))
    return 'names another account or namespace, which the permission key does not name';
  return isForbiddenHeader(name) ? 'is a header that only the gateway sets' : undefined;
}

/**
 * Why a call by method and path may not set this header; undefined when it may. Its permission key
 * does not name the account or person that such a header chooses.
 */
export function refusalOfRawHeaderName(name: string): string | undefined {
  const normalizedName = toPlainName(name);
  return otherActors.some((pattern) => pattern.test(normalizedName))
    ? 'acts for another account or person, which the permission key does not name; only an action whose template has this header as a parameter may set it'
    : refusalOfHeaderName(name);
}

/**
 * Folds spellings of a header name: CGI and WSGI servers read `X_Forwarded.Host` as
 * `X-Forwarded-Host`.
 */
function toPlainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, '-');
}
