/** The paths of the authorization server. The gateway uses the same paths. */
export const oauthPaths = {
  authorize: '/oauth/authorize',
  consent: '/oauth/consent',
  register: '/oauth/register',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
} as const;

/** The sign-in page of the gateway, which sends the browser back to `path` afterwards. */
export function signInPathTo(path: string): string {
  return `/sign-in?return_to=${encodeURIComponent(path)}`;
}
