/**
 * A host as it stands in permission keys and host lists: lower-case A-label, no trailing dot, the
 * port only when it is not the scheme's own (docs/reference/permissions.md#keys). `URL` does the
 * lower-casing and the IDNA mapping.
 */
export function hostOf(url: URL): string {
  const name = url.hostname.replace(/\.$/, '');
  return url.port === '' ? name : `${name}:${url.port}`;
}
