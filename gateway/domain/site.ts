/** What the gateway is called, and so which `Host` and `Origin` a request may carry. */
export interface Site {
  readonly baseUrl: string;
  readonly origin: string;
  /** `host` or `host:port`, lower case, without the scheme's own port. */
  readonly hosts: ReadonlySet<string>;
  readonly cookieName: string;
  /** Of the cookie that ties a sign-in at a provider to the browser that began it. */
  readonly signInCookieName: string;
  /** Of the cookie that a browser keeps after a sign-in, so that strangers cannot keep its user out. */
  readonly deviceCookieName: string;
  readonly isSecure: boolean;
}

const loopbackNames = ['localhost', '127.0.0.1', '[::1]'];

/**
 * Returns a sentence instead of a site when a session cookie could be read on the way: plain http
 * is for loopback alone (docs/reference/identities.md#sessions-and-cookies).
 */
export function describeSite(baseUrl: string, listenPort: number): Site | { problem: string } {
  const url = new URL(baseUrl);
  const isLoopback = loopbackNames.includes(url.hostname);
  const isSecure = url.protocol === 'https:';
  if (!isSecure && !isLoopback) {
    return {
      problem: `BASE_URL must be https, or http on localhost, 127.0.0.1 or [::1] (it is ${JSON.stringify(baseUrl)}): a sign-in over plain http could be stolen on the way.`,
    };
  }
  if (url.pathname !== '/' || url.search !== '' || url.hash !== '' || url.username !== '') {
    return {
      problem: `BASE_URL must be a scheme, a host and a port alone (it is ${JSON.stringify(baseUrl)}).`,
    };
  }
  const hosts = new Set([url.host]);
  // Whoever can name the gateway by loopback is on its machine; a rebound DNS name never looks like this.
  for (const name of loopbackNames) {
    hosts.add(new URL(`http://${name}:${listenPort}`).host);
    if (isLoopback) hosts.add(new URL(`${url.protocol}//${name}:${url.port}`).host);
  }
  return {
    baseUrl: url.origin,
    origin: url.origin,
    hosts,
    cookieName: isSecure ? '__Host-gateway_session' : 'gateway_session',
    signInCookieName: isSecure ? '__Host-gateway_sign_in' : 'gateway_sign_in',
    deviceCookieName: isSecure ? '__Host-gateway_device' : 'gateway_device',
    isSecure,
  };
}

/** `Host` as a browser or client sent it, compared without regard to case and default port. */
export function isOwnHost(site: Site, host: string | undefined): boolean {
  if (host === undefined) return false;
  const plain = host.toLowerCase();
  if (site.hosts.has(plain)) return true;
  const defaultPort = site.isSecure ? ':443' : ':80';
  return plain.endsWith(defaultPort) && site.hosts.has(plain.slice(0, -defaultPort.length));
}

interface OriginHeaders {
  readonly origin?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
}

/**
 * Whether our own pages sent an unsafe request that rides on a cookie. `Sec-Fetch-Site` cannot be
 * set by scripts, so a browser that says `same-origin` has settled it, under whichever of our
 * hosts the page was opened.
 */
export function isOwnOrigin(site: Site, headers: OriginHeaders): boolean {
  if (headers['sec-fetch-site'] === 'same-origin') return true;
  return headers.origin === site.origin;
}

/** Whether a browser on a foreign page sent it: programs send neither header, browsers always one of them. */
export function isForeignOrigin(site: Site, headers: OriginHeaders): boolean {
  if (headers.origin === undefined && headers['sec-fetch-site'] === undefined) return false;
  return !isOwnOrigin(site, headers);
}

/** The first cookie of that name; undefined when there is none. */
export function readCookie(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined;
  for (const part of header.split(';')) {
    const separator = part.indexOf('=');
    if (separator > 0 && part.slice(0, separator).trim() === name) {
      return part.slice(separator + 1).trim();
    }
  }
  return undefined;
}

/** `HttpOnly` and `SameSite=Lax` always; `Secure` with the `__Host-` name (RFC 6265bis §4.1.3.2). */
export function sessionCookie(site: Site, value: string, maxAgeSeconds: number): string {
  return `${site.cookieName}=${value}; ${attributes(site, maxAgeSeconds)}`;
}

/** Kept for as long as a sign-in at a provider may take; `Lax`, because it ends with a link from there. */
export function signInCookie(site: Site, value: string, maxAgeSeconds: number): string {
  return `${site.signInCookieName}=${value}; ${attributes(site, maxAgeSeconds)}`;
}

/** Read at sign-ins alone, and by no script. */
export function deviceCookie(site: Site, value: string, maxAgeSeconds: number): string {
  return `${site.deviceCookieName}=${value}; ${attributes(site, maxAgeSeconds)}`;
}

function attributes({ isSecure }: Site, maxAgeSeconds: number): string {
  return `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
}
