import { AppError } from '#errors';

/**
 * A host as it stands in permission keys and host lists: lower-case A-label, no trailing dot, the
 * port only when it is not the scheme's own (docs/reference/permissions.md#keys). `URL` does the
 * lower-casing and the IDNA mapping.
 */
export function hostOf(url: URL): string {
  const name = url.hostname.replace(/\.$/, '');
  return url.port === '' ? name : `${name}:${url.port}`;
}

export interface BaseUrl {
  readonly host: string;
  /** Path prefix without a slash at its end. */
  readonly prefix: string;
}

/** Host and path prefix of a connected service's base URL. */
export function parseBaseUrl(baseUrl: string): BaseUrl {
  const url = URL.parse(baseUrl);
  if (url === null || url.hostname === '') {
    throw new AppError(
      'host_not_allowed',
      'The base URL of the service cannot be used; connect the service again.',
    );
  }
  return { host: hostOf(url), prefix: url.pathname.replace(/\/+$/, '') };
}

/**
 * May a secret go to this host? Its list is compared byte for byte. A secret of the user's own
 * without a list goes wherever a `secret:{name}:{host}` key lets it, so only in calls that need one
 * (docs/reference/credentials.md#where-a-credential-may-go).
 */
export function mayGoTo(
  secret: { readonly reference: string; readonly allowedHosts: readonly string[] },
  host: string,
  { isKeyed }: { isKeyed: boolean },
): boolean {
  if (secret.allowedHosts.length > 0) return secret.allowedHosts.includes(host);
  return isKeyed && !secret.reference.startsWith('org/');
}
