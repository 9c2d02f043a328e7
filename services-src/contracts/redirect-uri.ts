const loopbackHosts = new Set(['127.0.0.1', '[::1]', 'localhost']);
const uriCharactersMax = 1_000;

/**
 * The private-use scheme of an application is a reversed domain name (RFC 8252 §7.1), so it contains
 * a dot. Schemes of operating systems and browsers contain none, or do not start like a domain name
 * (`ms-msdt`, `search-ms`, `x-apple.systempreferences`).
 */
const reverseDomainPattern = /^[a-z]{2,24}(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/;

/** Schemes without a dot that editors and agents use in redirect URIs for MCP. */
const knownApplicationSchemes = new Set(
  `antigravity claude code-oss codex cursor cursor-nightly goose jetbrains kiro lmstudio raycast trae
  vscode vscode-insiders vscodium warp windsurf windsurf-next zed`.split(/\s+/),
);

/** No schemes beside the known ones. */
const noSchemes: ReadonlySet<string> = new Set();

/**
 * Says in a sentence why a URI cannot be a redirect URI; undefined when it can. Allowed are https,
 * http on loopback, and private-use schemes of applications, without userinfo, fragment or dot
 * segments (OAuth 2.1 §2.3, RFC 8252 §7); `addedSchemes` are those of the setting
 * OAUTH_REDIRECT_SCHEMES. The check reads the text itself, not only the parsed URL,
 * because redirect URIs are later compared as text.
 */
export function findRedirectUriProblem(
  uri: string,
  addedSchemes: ReadonlySet<string> = noSchemes,
): string | undefined {
  const problem = findPlainUriProblem(uri);
  if (problem !== undefined) return problem;
  const [, scheme = '', , authority = ''] = uriPattern.exec(uri) ?? [];
  if (addedSchemes.has(scheme)) return undefined;
  return findSchemeProblem(scheme, authority, new URL(uri));
}

const uriPattern = /^([a-z][a-z0-9+.-]*):(\/\/([^/?#]*))?([^?#]*)/;

/** Says why a URI is not absolute, or is written so that two parsers could read it differently. */
export function findPlainUriProblem(uri: string): string | undefined {
  if (uri.length > uriCharactersMax) {
    return `A redirect URI has at most ${uriCharactersMax} characters.`;
  }
  // Allows printable ASCII, except characters that parsers drop or turn into a slash.
  if (!/^[\x21-\x7e]+$/.test(uri) || /[\\"<>^`{|}]/.test(uri)) {
    return 'A redirect URI holds only characters of a URI; percent-encode the others.';
  }
  const uriParts = uriPattern.exec(uri);
  if (uriParts === null || !URL.canParse(uri)) {
    return 'A redirect URI must be absolute, its scheme in lower case.';
  }
  const [, , , authority = '', path = ''] = uriParts;
  if (uri.includes('#')) return 'A redirect URI must not have a fragment.';
  if (authority.includes('@')) return 'A redirect URI must not name a user.';
  if (path.split('/').some((segment) => /^(\.|%2e){1,2}$/i.test(segment))) {
    return 'A redirect URI must not have dot segments.';
  }
  return undefined;
}

function findSchemeProblem(scheme: string, authority: string, url: URL): string | undefined {
  const writtenHost = authority.replace(/:\d*$/, '');
  if (scheme === 'https') {
    // Other characters in a host could match several hosts in a content security policy.
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
  return reverseDomainPattern.test(scheme) || knownApplicationSchemes.has(scheme)
    ? undefined
    : `A redirect URI cannot use the scheme ${scheme}: use https, http on loopback, or a scheme that is a domain name in reverse, such as com.example.app. An operator adds others by the setting OAUTH_REDIRECT_SCHEMES.`;
}

/**
 * Describes to a person where the browser is redirected: to a host, or to the application that
 * handles the URI's scheme.
 */
export function describeRedirectTarget(uri: string): string {
  const { protocol, hostname, host } = new URL(uri);
  if (loopbackHosts.has(hostname)) return `a program on this computer (${hostname})`;
  return protocol === 'https:' ? host : `the application that opens ${protocol}//`;
}

/**
 * The source expression for CSP `form-action` that allows a form to redirect to this URI: its
 * origin, or the scheme of an application, which CSP cannot narrow further.
 */
export function formTargetOf(uri: string): string {
  const { protocol, hostname, origin, port } = new URL(uri);
  if (origin === 'null') return protocol;
  // CSP cannot express an IPv6 address, so the expression allows any host on the same port.
  return hostname.startsWith('[') ? `${protocol}//*:${port || defaultPorts[protocol]}` : origin;
}

const defaultPorts: Readonly<Record<string, string>> = { 'http:': '80', 'https:': '443' };
