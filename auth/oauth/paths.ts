/** Addresses of the authorization server, the same here and at the gateway. */
export const paths = {
  authorize: '/oauth/authorize',
  consent: '/oauth/consent',
  register: '/oauth/register',
  token: '/oauth/token',
  revoke: '/oauth/revoke',
} as const;
