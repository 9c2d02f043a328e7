import type { BadInput, Scene } from './scene.ts';

const invalid = { status: 400, error: 'invalid_request' };
const forbiddenAnswer = { status: 403, error: 'forbidden' };
const sendSignIn =
  (body: unknown, headers: Record<string, string> = {}) =>
  async ({ url }: Scene) => {
    const reply = await fetch(`${url}/v1/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return { status: reply.status, headers: reply.headers, body: await reply.json() };
  };
const inviteUser = (body: unknown) => (scene: Scene) =>
  scene.admin.post('/v1/users/invitations', body);
const changeOrg = (body: unknown) => (scene: Scene) => scene.admin.patch('/v1/org', body);
const putProvider =
  (fields: object, key = 'work') =>
  (scene: Scene) =>
    scene.admin.put(`/v1/sign-in-providers/${key}`, {
      name: 'Work',
      issuer: 'https://id.example',
      client_id: 'gateway',
      ...fields,
    });
const unknownAccount = { email: 'nobody@example.com', password: 'CANARY-a-good-password' };

/** Invalid requests about users, signing in, and an org's settings. */
export const badSignIns: BadInput[] = [
  {
    what: 'a sign-in without a password',
    send: sendSignIn({ email: unknownAccount.email }),
    ...invalid,
  },
  { what: 'an empty password', send: sendSignIn({ ...unknownAccount, password: '' }), ...invalid },
  {
    what: 'a password of a megabyte',
    send: sendSignIn({ ...unknownAccount, password: 'x'.repeat(1_000_000) }),
    status: 413,
    error: 'too_large',
  },
  {
    what: 'a sign-in with an unknown field, and names the most similar field',
    send: sendSignIn({ ...unknownAccount, orgs: 'x' }),
    ...invalid,
    tells: /"did_you_mean":"org"/,
  },
  {
    what: 'an unknown e-mail address',
    send: sendSignIn(unknownAccount),
    status: 401,
    error: 'unauthenticated',
    tells: /e-mail address or the password/,
  },
  {
    what: 'an e-mail address with SQL',
    send: sendSignIn({ ...unknownAccount, email: "' or 1=1 --" }),
    status: 401,
    error: 'unauthenticated',
  },
  {
    what: 'a NUL in an e-mail address',
    send: sendSignIn({ ...unknownAccount, email: 'a\0b' }),
    ...invalid,
  },
  ...[
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ].map((headers) => ({
    what: `a sign-in from another site (${JSON.stringify(headers)})`,
    send: sendSignIn(unknownAccount, headers),
    ...forbiddenAnswer,
  })),
  ...['ann', 'ann@', '@example.com', 'a b@example.com', 'ann@exämple.com', 'x@y', ''].map(
    (email) => ({
      what: `an invitation to ${JSON.stringify(email)}`,
      send: inviteUser({ email, role: 'member' }),
      ...invalid,
      tells: /"path":"email"/,
    }),
  ),
  {
    what: 'an invitation with an unknown role, and names the most similar role',
    send: inviteUser({ email: 'a@example.com', role: 'admins' }),
    ...invalid,
    tells: /"did_you_mean":"admin"/,
  },
  {
    what: 'an invitation by a member',
    send: ({ member }) =>
      member.post('/v1/users/invitations', { email: 'a@example.com', role: 'admin' }),
    ...forbiddenAnswer,
  },
  {
    what: 'an invitation by an agent',
    send: ({ bot }) => bot.post('/v1/users/invitations', { email: 'a@example.com', role: 'admin' }),
    status: 403,
    error: 'insufficient_scope',
  },
  {
    what: 'a member who makes itself admin',
    send: ({ member }) => member.patch(`/v1/users/${member.id}`, { role: 'admin' }),
    ...forbiddenAnswer,
  },
  {
    what: 'removing the admin role from the last admin',
    send: ({ admin }) => admin.patch(`/v1/users/${admin.id}`, { role: 'member' }),
    ...forbiddenAnswer,
    tells: /last admin/,
  },
  {
    what: 'a role for an agent',
    send: ({ admin, bot }) => admin.patch(`/v1/users/${bot.id}`, { role: 'admin' }),
    status: 404,
    error: 'not_found',
  },
  { what: 'an empty change of the org', send: changeOrg({}), ...invalid },
  {
    what: 'an unknown setting of the org, and names the most similar setting',
    send: changeOrg({ approval_ttl_second: 60 }),
    ...invalid,
    tells: /"did_you_mean":"approval_ttl_seconds"/,
  },
  ...[
    { approval_ttl_seconds: 59 },
    { approval_ttl_seconds: 1.5 },
    { auto_bubble_seconds: -1 },
    { remember_ttl_seconds: 31_536_001 },
    { durable_read_audit: 'yes' },
    { oauth_client_allow_list: [''] },
    { oauth_client_allow_list: Array(101).fill('a') },
  ].map((body) => ({
    what: `the setting ${JSON.stringify(body).slice(0, 60)}`,
    send: changeOrg(body),
    ...invalid,
  })),
  {
    what: 'a member who changes the org’s settings',
    send: ({ member }) => member.patch('/v1/org', { auto_bubble_seconds: 0 }),
    ...forbiddenAnswer,
  },
  ...[
    'javascript:alert(1)',
    'ftp://id.example',
    'id.example',
    '',
    'https://user:password@id.example',
    'https://id.example?tenant=1',
    'https://id.example/.well-known/openid-configuration',
  ].map((issuer) => ({
    what: `a sign-in provider at ${JSON.stringify(issuer)}`,
    send: putProvider({ issuer }),
    ...invalid,
    tells: /"path":"issuer"/,
  })),
  ...['https://169.254.169.254', 'https://127.0.0.1:1', 'https://[::1]', 'http://10.0.0.1'].map(
    (issuer) => ({
      what: `a sign-in provider at the internal address ${issuer}`,
      send: putProvider({ issuer }),
      status: 400,
      error: 'invalid_params',
      tells: /issuer/,
    }),
  ),
  {
    what: 'a sign-in provider with an invalid domain',
    send: putProvider({ allowed_email_domains: ['@Acme.example'] }),
    ...invalid,
    tells: /allowed_email_domains/,
  },
  {
    what: 'a sign-in provider with an invalid name',
    send: putProvider({}, 'Work%2F..'),
    ...invalid,
    tells: /"path":"key"/,
  },
  {
    what: 'ending a session that does not exist',
    send: ({ admin, approval }) => admin.delete(`/v1/sessions/${approval.approval_id}`),
    status: 404,
    error: 'not_found',
  },
];
