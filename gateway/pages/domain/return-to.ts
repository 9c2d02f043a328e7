import { dashboardPaths } from '#contracts/http/dashboard-paths';
import { findRedirectUriProblem, formTargetOf } from '#contracts/redirect-uri';

const returnPathCharactersMax = 4_000;
/**
 * Matches printable ASCII that begins with exactly one slash. Other characters must be
 * percent-encoded.
 */
const returnPathPattern = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

/**
 * Percent-encoded backslashes and control characters, in any spelling. No page has them in its
 * path.
 */
const refusedEscapes = /%(?:5c|[01][\da-f]|7f)/i;

/**
 * The first path segments of the addresses of pages. All other addresses of the gateway are for
 * programs.
 */
const firstSegments = new Set([
  ...Object.values(dashboardPaths).map(firstSegmentOf),
  'oauth',
  'connect',
]);

/**
 * Parses the path to return to after sign-in, as a browser would resolve it. Returns null if the
 * address could lead to another site (`//evil.example`, `/\evil.example`, `https:…`), is malformed,
 * or is not the address of a page (for example a path of the API). Callers then use `/`.
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
 * Browsers apply `form-action` to every redirect after the form. An authorization request of a
 * client that the person has already allowed redirects to the client's address at once, so this
 * address must be allowed. Auth checks that the client has registered the address. An address that
 * no client can register is left out.
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
