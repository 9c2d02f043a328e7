const charactersMax = 4_000;
/** Printable ASCII, starting with one slash; what stands in a URL otherwise is percent-encoded. */
const shape = /^\/(?!\/)[\x21-\x5b\x5d-\x7e]*$/;

/**
 * Where a browser may be sent after signing in: a path of ours with query and fragment, as the
 * browser would resolve it. Null for anything that could lead elsewhere (`//evil.example`,
 * `/\evil.example`, `https:…`) or that is not written as a URL; callers then go to `/`.
 */
export function parseReturnTo(text: unknown): string | null {
  if (typeof text !== 'string' || text.length > charactersMax || !shape.test(text)) return null;
  const base = 'https://gateway.invalid';
  const url = URL.parse(text, base);
  // Dot segments can leave two slashes at the start ("/.//evil.example").
  if (url === null || url.origin !== base || url.pathname.includes('//')) return null;
  return `${url.pathname}${url.search}${url.hash}`;
}

/**
 * What `form-action` must allow on a page whose form ends at `returnTo`: browsers apply it to
 * every redirect after the form, and an authorization request goes on to its client's address.
 */
export function formTargetsOf(returnTo: string | null): string[] {
  if (returnTo === null || !returnTo.startsWith('/oauth/')) return [];
  const { searchParams } = new URL(returnTo, 'https://gateway.invalid');
  const scheme = URL.parse(searchParams.get('redirect_uri') ?? '')?.protocol ?? 'https:';
  return [...new Set(['https:', 'http:', scheme])];
}
