/**
 * The host in the form that permission keys and host lists use: lower-case A-label, no trailing
 * dot, and a port only when it is not the default of the scheme
 * (docs/reference/permissions.md#keys). `URL` has already converted the host to lower case and to
 * A-labels.
 */
export function hostOf(url: URL): string {
  const name = url.hostname.replace(/\.$/, '');
  return url.port === '' ? name : `${name}:${url.port}`;
}
