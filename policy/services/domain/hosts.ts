import { AppError } from '#errors';

/**
 * A host as permission keys and host lists contain it: lower-case A-label, no trailing dot, a port
 * only if it is not the default port of the scheme (docs/reference/permissions.md#keys). `URL` has
 * already converted letter case and IDNA.
 */
export function hostOf(url: URL): string {
  const name = url.hostname.replace(/\.$/, '');
  return url.port === '' ? name : `${name}:${url.port}`;
}

export interface BaseUrl {
  readonly host: string;
  /** The path of the base URL, without a slash at the end. */
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
 * Whether a secret may go to this host. The hosts in the secret's list are compared byte for byte.
 * A user's own secret without a list may go only to hosts that a `secret:{name}:{host}` permission
 * key allows, so only in calls that need such a key
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
