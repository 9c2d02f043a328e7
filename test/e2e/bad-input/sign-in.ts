import type { BadInput, Scene } from './scene.ts';

const invalid = { status: 400, error: 'invalid_request' };
const forbidden = { status: 403, error: 'forbidden' };
const signIn =
  (body: unknown, headers: Record<string, string> = {}) =>
  async ({ url }: Scene) => {
    const reply = await fetch(`${url}/v1/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: JSON.stringify(body),
    });
    return { status: reply.status, headers: reply.headers, body: await reply.json() };
  };
const invite = (body: unknown) => (scene: Scene) => scene.admin.post('/v1/users/invitations', body);
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
const good = { email: 'nobody@example.com', password: 'CANARY-a-good-password' };

/** About users, signing in, and what an org has set. */
export const badSignIns: BadInput[] = [
  { what: 'a sign-in without a password', send: signIn({ email: good.email }), ...invalid },
  { what: 'an empty password', send: signIn({ ...good, password: '' }), ...invalid },
  {
    what: 'a password of a megabyte',
    send: signIn({ ...good, password: 'x'.repeat(1_000_000) }),
    status: 413,
    error: 'too_large',
  },
  {
    what: 'a sign-in with an unknown field, and names the nearest',
    send: signIn({ ...good, orgs: 'x' }),
    ...invalid,
    tells: /"did_you_mean":"org"/,
  },
  {
    what: 'an e-mail address that nobody has',
    send: signIn(good),
    status: 401,
    error: 'unauthenticated',
    tells: /e-mail address or the password/,
  },
  {
    what: 'an e-mail address that is SQL',
    send: signIn({ ...good, email: "' or 1=1 --" }),
    status: 401,
    error: 'unauthenticated',
  },
  { what: 'a NUL in an e-mail address', send: signIn({ ...good, email: 'a\0b' }), ...invalid },
  ...[
    { origin: 'https://evil.example' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
  ].map((headers) => ({
    what: `a sign-in from elsewhere (${JSON.stringify(headers)})`,
    send: signIn(good, headers),
    ...forbidden,
  })),
  ...['ann', 'ann@', '@example.com', 'a b@example.com', 'ann@exämple.com', 'x@y', ''].map(
    (email) => ({
      what: `an invitation to ${JSON.stringify(email)}`,
      send: invite({ email, role: 'member' }),
      ...invalid,
      tells: /"path":"email"/,
    }),
  ),
  {
    what: 'an invitation as what is no role, and names the nearest',
    send: invite({ email: 'a@example.com', role: 'admins' }),
    ...invalid,
    tells: /"did_you_mean":"admin"/,
  },
  {
    what: 'an invitation by a member',
    send: ({ member }) =>
      member.post('/v1/users/invitations', { email: 'a@example.com', role: 'admin' }),
    ...forbidden,
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
    ...forbidden,
  },
  {
    what: 'the last admin who would be none',
    send: ({ admin }) => admin.patch(`/v1/users/${admin.id}`, { role: 'member' }),
    ...forbidden,
    tells: /last admin/,
  },
  {
    what: 'a role for an agent',
    send: ({ admin, bot }) => admin.patch(`/v1/users/${bot.id}`, { role: 'admin' }),
    status: 404,
    error: 'not_found',
  },
  { what: 'a change of the org that changes nothing', send: changeOrg({}), ...invalid },
  {
    what: 'an unknown setting of the org, and names the nearest',
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
    what: 'settings of the org from a member',
    send: ({ member }) => member.patch('/v1/org', { auto_bubble_seconds: 0 }),
    ...forbidden,
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
      what: `a sign-in provider inside (${issuer})`,
      send: putProvider({ issuer }),
      status: 400,
      error: 'invalid_params',
      tells: /issuer/,
    }),
  ),
  {
    what: 'a sign-in provider for a domain that is none',
    send: putProvider({ allowed_email_domains: ['@Acme.example'] }),
    ...invalid,
    tells: /allowed_email_domains/,
  },
  {
    what: 'a sign-in provider whose name is no name',
    send: putProvider({}, 'Work%2F..'),
    ...invalid,
    tells: /"path":"key"/,
  },
  {
    what: 'the end of a session that is not there',
    send: ({ admin, approval }) => admin.delete(`/v1/sessions/${approval.approval_id}`),
    status: 404,
    error: 'not_found',
  },
];
