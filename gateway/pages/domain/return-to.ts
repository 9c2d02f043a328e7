import { dashboardPaths } from '#contracts/http/dashboard-paths';
import { findRedirectUriProblem, formTargetOf } from '#contracts/redirect-uri';

const returnPathCharactersMax = 4_000;
/**
 * Matches printable ASCII that begins with exactly one slash; other characters must be
 * percent-encoded.
 */
const returnPathPattern = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

/** Backslashes and control characters, which no page has in its path, in any spelling. */
const refusedEscapes = /%(?:5c|[01][\da-f]|7f)/i;

/** The beginnings of the addresses of pages; whatever else the gateway serves is for programs. */
const firstSegments = new Set([
  ...Object.values(dashboardPaths).map(firstSegmentOf),
  'oauth',
  'connect',
]);

/**
 * Parses the path to return to after sign-in, as a browser would resolve it. Returns null for an
 * address that could lead to another site (`//evil.example`, `/\evil.example`, `https:…`), is
 * malformed, or is that of no page, such as a path of the API; callers then use `/`.
 */
export function parseReturnTo(text: unknown): string | null {
  if (
    typeof text !== 'string' ||
    text.length > returnPathCharactersMax ||
    !returnPathPattern.test(text)
  )
    return null;
  const baseUrl = 'https://gateway.invalid';
  const url = URL.parse(text, baseUrl);
  // Removing dot segments can leave two slashes at the start ("/.//evil.example").
  if (url === null || url.origin !== baseUrl || url.pathname.includes('//')) return null;
  if (refusedEscapes.test(url.pathname) || !isPage(url.pathname)) return null;
  return `${url.pathname}${url.search}${url.hash}`;
}

function isPage(path: string): boolean {
  return path === '/sign-in/password' || firstSegments.has(firstSegmentOf(path));
}

function firstSegmentOf(path: string): string {
  return path.split('/', 2)[1] ?? '';
}

/**
 * Returns the targets that `form-action` must allow on a page whose form leads to `returnTo`.
 * Browsers apply `form-action` to every redirect after the form, and an authorization request of a
 * client that the person let in before redirects to the address of the client at once. Auth checks
 * that the client has registered the address; one that no client can register is left out.
 */
export function formTargetsOf(
  returnTo: string | null,
  addedSchemes: ReadonlySet<string>,
): string[] {
  if (returnTo === null || !returnTo.startsWith('/oauth/')) return [];
  const { searchParams } = new URL(returnTo, 'https://gateway.invalid');
  const redirectUri = searchParams.get('redirect_uri') ?? '';
  const problem = findRedirectUriProblem(redirectUri, addedSchemes);
  return problem === undefined ? [formTargetOf(redirectUri)] : [];
}
