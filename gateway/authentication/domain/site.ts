import { loopbackNames, originsOf } from '#contracts/oauth';

/**
 * The gateway's own public address, which decides the `Host` and `Origin` headers that requests may
 * carry.
 */
export interface Site {
  readonly baseUrl: string;
  readonly origin: string;
  /**
   * The accepted hosts as `host` or `host:port`, in lower case, without the default port of the
   * scheme.
   */
  readonly hosts: ReadonlySet<string>;
  readonly cookieName: string;
  /**
   * The name of the cookie that ties a sign-in at a provider to the browser that started this
   * sign-in.
   */
  readonly signInCookieName: string;
  /**
   * The name of the cookie that a browser keeps after a sign-in. Failed sign-ins from other
   * browsers cannot lock out a user whose browser sends this cookie.
   */
  readonly deviceCookieName: string;
  /** The name of the cookie with the page to return to after an account is connected. */
  readonly returnCookieName: string;
  /** The name of the cookie with the page to open after a sign-in by a one-time link. */
  readonly wantedPageCookieName: string;
  readonly isSecure: boolean;
}

/**
 * Derives the site from its base URL. Returns a problem for plain http on any host but loopback,
 * where a session cookie could be intercepted (docs/reference/identities.md#sessions-and-cookies).
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
  const hosts = new Set([url.host, ...originsOf(url.origin).map((origin) => new URL(origin).host)]);
  // Accepting loopback names is safe: only a client on the same machine reaches the gateway under
  // these names. In a DNS rebinding attack, `Host` is the attacker's domain.
  for (const name of loopbackNames) hosts.add(new URL(`http://${name}:${listenPort}`).host);
  return {
    baseUrl: url.origin,
    origin: url.origin,
    hosts,
    cookieName: isSecure ? '__Host-gateway_session' : 'gateway_session',
    signInCookieName: isSecure ? '__Host-gateway_sign_in' : 'gateway_sign_in',
    deviceCookieName: isSecure ? '__Host-gateway_device' : 'gateway_device',
    returnCookieName: isSecure ? '__Host-gateway_return' : 'gateway_return',
    wantedPageCookieName: isSecure ? '__Host-gateway_wanted' : 'gateway_wanted',
    isSecure,
  };
}

/** Compares a `Host` header with the accepted hosts, ignoring case and the default port. */
export function isOwnHost(site: Site, host: string | undefined): boolean {
  if (host === undefined) return false;
  const lowerCaseHost = host.toLowerCase();
  if (site.hosts.has(lowerCaseHost)) return true;
  const defaultPort = site.isSecure ? ':443' : ':80';
  return (
    lowerCaseHost.endsWith(defaultPort) &&
    site.hosts.has(lowerCaseHost.slice(0, -defaultPort.length))
  );
}

interface OriginHeaders {
  readonly origin?: string | undefined;
  readonly 'sec-fetch-site'?: string | string[] | undefined;
}

/**
 * Whether a page of the gateway itself sent the request. Scripts cannot set `Sec-Fetch-Site`, so
 * its value `same-origin` is proof, under whichever accepted host the page was opened.
 */
export function isOwnOrigin(site: Site, headers: OriginHeaders): boolean {
  if (headers['sec-fetch-site'] === 'same-origin') return true;
  return headers.origin === site.origin;
}

/**
 * Whether a browser sent the request from a page of another site. Browsers always send `Origin` or
 * `Sec-Fetch-Site`; other programs usually send neither.
 */
export function isForeignOrigin(site: Site, headers: OriginHeaders): boolean {
  if (headers.origin === undefined && headers['sec-fetch-site'] === undefined) return false;
  return !isOwnOrigin(site, headers);
}

/** Returns the first cookie with that name. */
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

/** Builds the `Set-Cookie` header of a session (RFC 6265bis §4.1.3.2). */
export function buildSessionCookie(site: Site, value: string, maxAgeSeconds: number): string {
  return `${site.cookieName}=${value}; ${cookieAttributesOf(site, maxAgeSeconds)}`;
}

/**
 * Builds the cookie of a sign-in at a provider. It is `Lax` because the sign-in ends with a link
 * from the provider's site.
 */
export function buildSignInCookie(site: Site, value: string, maxAgeSeconds: number): string {
  return `${site.signInCookieName}=${value}; ${cookieAttributesOf(site, maxAgeSeconds)}`;
}

/** Builds the cookie with the page to return to. It is `Lax` for the same reason. */
export function buildReturnCookie(site: Site, value: string, maxAgeSeconds: number): string {
  return `${site.returnCookieName}=${value}; ${cookieAttributesOf(site, maxAgeSeconds)}`;
}

/**
 * Builds the cookie with the page that a person opened before signing in. It is `Lax` because a
 * one-time link may be opened from a mail.
 */
export function buildWantedPageCookie(site: Site, value: string, maxAgeSeconds: number): string {
  return `${site.wantedPageCookieName}=${value}; ${cookieAttributesOf(site, maxAgeSeconds)}`;
}

/** Builds the device cookie, which is read only at sign-in. */
export function buildDeviceCookie(site: Site, value: string, maxAgeSeconds: number): string {
  return `${site.deviceCookieName}=${value}; ${cookieAttributesOf(site, maxAgeSeconds)}`;
}

function cookieAttributesOf({ isSecure }: Site, maxAgeSeconds: number): string {
  return `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
}
