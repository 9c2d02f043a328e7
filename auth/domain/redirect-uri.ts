const loopbackHosts = new Set(['127.0.0.1', '[::1]', 'localhost']);
const charactersMax = 1_000;

/**
 * A scheme that an application claims for itself is a domain name in reverse (RFC 8252 §7.1), so
 * it has a dot. Schemes of operating systems and browsers have none, or do not begin like a
 * domain name (`ms-msdt`, `search-ms`, `x-apple.systempreferences`).
 */
const reverseDomain = /^[a-z]{2,24}(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;

/** Editors and agents whose scheme has no dot, and which use it as a redirect URI for MCP. */
const knownApplications = new Set(
  `antigravity claude code-oss codex cursor cursor-nightly goose jetbrains kiro lmstudio raycast trae
  vscode vscode-insiders vscodium warp windsurf windsurf-next zed`.split(/\s+/),
);

/**
 * Why a URI cannot be registered as a redirect URI, as a sentence; undefined when it can: https,
 * http on loopback, or a private-use scheme of an application, without userinfo, fragment or dot
 * segments (OAuth 2.1 §2.3, RFC 8252 §7). It is compared as text later, so it is also judged as
 * written.
 */
export function whyNotRedirectUri(uri: string): string | undefined {
  const problem = whyNotPlain(uri);
  if (problem !== undefined) return problem;
  const [, scheme = '', , authority = ''] = shape.exec(uri) ?? [];
  return whyNotScheme(scheme, authority, new URL(uri));
}

const shape = /^([a-z][a-z0-9+.-]*):(\/\/([^/?#]*))?([^?#]*)/;

/** Why a URI is not absolute and plain: readable in one way only, whoever reads it. */
export function whyNotPlain(uri: string): string | undefined {
  if (uri.length > charactersMax) {
    return `A redirect URI has at most ${charactersMax} characters.`;
  }
  // Printable ASCII without what parsers drop, turn into a slash, or end a header with.
  if (!/^[\x21-\x7e]+$/.test(uri) || /[\\"<>^`{|}]/.test(uri)) {
    return 'A redirect URI holds only characters of a URI; percent-encode the others.';
  }
  const written = shape.exec(uri);
  if (written === null || !URL.canParse(uri)) {
    return 'A redirect URI must be absolute, its scheme in lower case.';
  }
  const [, , , authority = '', path = ''] = written;
  if (uri.includes('#')) return 'A redirect URI must not have a fragment.';
  if (authority.includes('@')) return 'A redirect URI must not name a user.';
  if (path.split('/').some((segment) => /^(\.|%2e){1,2}$/i.test(segment))) {
    return 'A redirect URI must not have dot segments.';
  }
  return undefined;
}

function whyNotScheme(scheme: string, authority: string, url: URL): string | undefined {
  const writtenHost = authority.replace(/:\d*$/, '');
  if (scheme === 'https') {
    // A host with other characters could mean more than one place in a content security policy.
    if (writtenHost.toLowerCase() !== url.hostname || !/^[a-z0-9.:[\]-]+$/.test(url.hostname)) {
      return 'Write the host of the redirect URI as it is resolved.';
    }
    return loopbackHosts.has(url.hostname)
      ? 'A redirect URI on loopback uses http (RFC 8252 §7.3).'
      : undefined;
  }
  if (scheme === 'http') {
    return loopbackHosts.has(writtenHost)
      ? undefined
      : 'A redirect URI uses https, or http on 127.0.0.1, [::1] or localhost alone.';
  }
  return reverseDomain.test(scheme) || knownApplications.has(scheme)
    ? undefined
    : `A redirect URI cannot use the scheme ${scheme}: use https, http on loopback, or a scheme that is a domain name in reverse, such as com.example.app.`;
}

/** How a person is told where an answer goes: the host, or the application's own scheme. */
export function describeRedirectTarget(uri: string): string {
  const { protocol, hostname, host } = new URL(uri);
  if (loopbackHosts.has(hostname)) return `a program on this computer (${hostname})`;
  return protocol === 'https:' ? host : `the application that opens ${protocol}//`;
}

/** The source expression under which a form may end at this URI (CSP: form-action). */
export function formTargetOf(uri: string): string {
  const { protocol, hostname, origin } = new URL(uri);
  // CSP has no way to write an IPv6 address.
  const isWritable = origin !== 'null' && !hostname.startsWith('[');
  return isWritable ? origin : protocol;
}
