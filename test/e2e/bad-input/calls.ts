import type { BadInput, Scene } from './scene.ts';

const path = '/v1/actions/call';
const repository = 'acme/site';
const byBot = (body: unknown, headers?: Record<string, string>) => (scene: Scene) =>
  scene.bot.post(path, body, headers);
/** Users skip the permission layer: what is left is the guard of outbound requests. */
const byUser = (body: object) => (scene: Scene) =>
  scene.admin.post(path, { service: 'http', method: 'GET', ...body });
const onUpstream =
  (target: string, more: object = {}) =>
  (scene: Scene) =>
    byUser({ url: `${scene.world.upstream.url}${target}`, ...more })(scene);
const invalid = { status: 400, error: 'invalid_params' };
const shape = { status: 400, error: 'invalid_request' };
const refused = { status: 502, error: 'upstream_refused_address' };

/** Calls that cannot work, so that nobody is ever asked about them. */
export const badCalls: BadInput[] = [
  {
    what: 'an unknown service, and names those there are',
    send: byBot({ service: 'githob', action: 'list_issues' }),
    status: 404,
    error: 'unknown_service',
    tells: /github.*"available":\["(org\/)?github"\]/,
  },
  {
    what: 'an unknown action, and names the nearest',
    send: byBot({ service: 'github', action: 'create_isue', params: {} }),
    status: 404,
    error: 'unknown_action',
    tells: /"did_you_mean":"create_issue"/,
  },
  {
    what: 'a service name that cannot be one',
    send: byBot({ service: 'GitHub', action: 'list_issues' }),
    ...shape,
    tells: /"did_you_mean":"github"/,
  },
  {
    what: 'a call without its required params, and names them',
    send: byBot({ service: 'github', action: 'create_issue', params: { repository } }),
    ...invalid,
    tells: /"path":"title"/,
  },
  {
    what: 'an unknown param, and names the nearest known one',
    send: byBot({
      service: 'github',
      action: 'create_issue',
      params: { repository, title: 'a', labls: [] },
    }),
    ...invalid,
    tells: /"path":"labls".*"did_you_mean":"labels"/,
  },
  {
    what: 'a param of the wrong type',
    send: byBot({ service: 'github', action: 'create_issue', params: { repository, title: 7 } }),
    ...invalid,
    tells: /"path":"title".*string/,
  },
  {
    what: 'a value that is not one of those allowed, and names the nearest',
    send: byBot({
      service: 'github',
      action: 'list_issues',
      params: { repository, state: 'opened' },
    }),
    ...invalid,
    tells: /"path":"state".*"did_you_mean":"open"/,
  },
  {
    what: 'an integer that JSON cannot carry exactly',
    send: ({ raw }) =>
      raw({
        path,
        body: `{"service":"github","action":"update_issue","params":{"repository":"acme/site","issue_number":12345678901234567890}}`,
      }),
    ...invalid,
    tells: /issue_number/,
  },
  {
    what: 'a path param that climbs',
    send: byBot({
      service: 'github',
      action: 'create_issue',
      params: { repository: '../..', title: 'a' },
    }),
    ...invalid,
    tells: /repository/,
  },
  {
    what: 'a filter that does not compile',
    send: byBot({ service: 'github', action: 'list_issues', params: { repository }, filter: '.[' }),
    status: 400,
    error: 'filter_invalid',
  },
  {
    what: 'a write when the caller allows reads only',
    send: byBot({
      service: 'github',
      action: 'create_issue',
      params: { repository, title: 'a' },
      max_risk: 'read',
    }),
    status: 403,
    error: 'risk_exceeded',
  },
  {
    what: 'an action together with a method',
    send: byBot({ service: 'github', action: 'list_issues', method: 'GET', path: '/' }),
    ...shape,
    tells: /method/,
  },
  {
    what: 'approval_id together with a call',
    send: ({ bot, approval }) =>
      bot.post(path, { approval_id: approval.approval_id, service: 'github' }),
    ...shape,
    tells: /"path":"service"/,
  },
  {
    what: 'params given as a string that is no JSON',
    send: byBot({ service: 'github', action: 'list_issues', params: '{' }),
    ...shape,
    tells: /params/,
  },
  {
    what: 'an Idempotency-Key with spaces',
    send: byBot({ service: 'github', action: 'list_issues' }, { 'idempotency-key': 'a b' }),
    ...shape,
    tells: /Idempotency-Key/,
  },
  {
    what: 'a service whose secret is missing',
    send: ({ admin }) =>
      admin.post('/v1/services', {
        template: 'sendgrid',
        tier: 'org',
        credentials: { secrets: { api_key: 'no_such_secret' } },
      }),
    status: 424,
    error: 'credential_missing',
    tells: /"secret":"(org\/)?no_such_secret"/,
  },
  {
    what: 'a raw call with a secret that does not exist',
    send: onUpstream('/x', { secrets: [{ name: 'no_such_secret', in: 'header', key: 'x-key' }] }),
    status: 424,
    error: 'credential_missing',
    tells: /"secret":"no_such_secret"/,
  },
  {
    what: 'a secret on its way to a host it is not for',
    send: byUser({
      url: 'https://example.com/',
      secrets: [{ name: 'org/github_token', in: 'header', key: 'x-key' }],
    }),
    status: 403,
    error: 'host_not_allowed',
  },
  { what: 'raw HTTP without a URL', send: byUser({}), ...shape, tells: /url/ },
  {
    what: 'raw HTTP with a relative URL',
    send: byUser({ url: '/x' }),
    ...shape,
    tells: /full URL/,
  },
  {
    what: 'a method in lower case',
    send: byUser({ url: 'https://a.example/', method: 'get' }),
    ...shape,
    tells: /GET/,
  },
  {
    what: 'a method that is not for APIs',
    send: byUser({ url: 'https://a.example/', method: 'TRACE' }),
    ...shape,
  },
  { what: 'a user name in a URL', send: byUser({ url: 'https://u:p@a.example/' }), ...invalid },
  { what: 'another scheme than http', send: byUser({ url: 'file:///etc/passwd' }), ...shape },
  { what: 'dot segments', send: onUpstream('/a/../b'), ...invalid, tells: /"\.\.\\"/ },
  { what: 'encoded dot segments', send: onUpstream('/a/%2e%2E/b'), ...invalid },
  { what: 'dot segments with a parameter', send: onUpstream('/a/..;x=1/b'), ...invalid },
  { what: 'an encoded slash', send: onUpstream('/a%2fb'), ...invalid, tells: /slash/ },
  { what: 'an encoded backslash', send: onUpstream('/a%5Cb'), ...invalid },
  { what: 'a backslash', send: onUpstream('/a\\b'), ...invalid },
  { what: 'an encoded control character', send: onUpstream('/a%00b'), ...invalid },
  { what: 'a broken percent sign', send: onUpstream('/a%zz'), ...invalid },
  ...['X-HTTP-Method-Override', 'x-http-method', 'X-Method-Override', 'X_HTTP_METHOD_OVERRIDE'].map(
    (name) => ({
      what: `the header ${name}`,
      send: onUpstream('/x', { headers: { [name]: 'DELETE' } }),
      ...invalid,
      tells: /method/,
    }),
  ),
  { what: 'a _method parameter in the URL', send: onUpstream('/x?_method=DELETE'), ...invalid },
  {
    what: 'a _method parameter',
    send: onUpstream('/x', { query: { _method: 'DELETE' } }),
    ...invalid,
  },
  {
    what: 'a header with a line break',
    send: onUpstream('/x', { headers: { 'x-a': 'b\r\nx-c: d' } }),
    ...invalid,
  },
  {
    what: 'a Host header',
    send: onUpstream('/x', { headers: { host: 'evil.example' } }),
    ...invalid,
  },
  ...[
    'https://127.0.0.1/',
    'https://127.0.0.1:1/',
    'https://localhost/',
    'https://0.0.0.0/',
    'https://2130706433/',
    'https://0x7f.1/',
    'https://10.0.0.1/',
    'https://192.168.1.1/',
    'https://169.254.169.254/latest/meta-data/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[fd00:ec2::254]/',
    'http://10.0.0.1/',
  ].map((url) => ({ what: `raw HTTP to ${url}`, send: byUser({ url }), ...refused })),
  {
    what: 'an action that the platform has not',
    send: byBot({ service: 'platform', action: 'allow_everything' }),
    status: 404,
    error: 'unknown_action',
  },
  {
    what: 'the platform by method and path',
    send: byBot({ service: 'platform', method: 'GET', path: '/whoami' }),
    ...invalid,
  },
  {
    what: 'params that an action of the platform has not',
    send: byBot({ service: 'platform', action: 'list_pending', params: { as: 'ann' } }),
    ...invalid,
  },
  {
    what: 'bytes that are no base64',
    send: onUpstream('/x', {
      method: 'PUT',
      headers: { 'content-type': 'image/png' },
      body: { base64: '%%%' },
    }),
    ...invalid,
  },
];
