/** Addresses of the authorization server, the same here and at the gateway. */
export const paths = {
  authorize: '/oauth/authorize',
  consent: '/oauth/consent',
  register: '/oauth/register',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
} as const;

/** Where the gateway signs a person in, and sends the browser back to `path` afterwards. */
export function signInPath(path: string): string {
  return `/sign-in?return_to=${encodeURIComponent(path)}`;
}
