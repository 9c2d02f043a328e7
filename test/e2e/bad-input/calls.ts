import type { BadInput, Scene } from './scene.ts';

const path = '/v1/actions/call';
const repository = 'acme/site';
const callByBot = (body: unknown, headers?: Record<string, string>) => (scene: Scene) =>
  scene.bot.post(path, body, headers);
/**
 * A call by a user. Users need no permission from policy, so only the guard of outbound requests
 * can refuse these calls.
 */
const callByUser = (body: object) => (scene: Scene) =>
  scene.admin.post(path, { service: 'http', method: 'GET', ...body });
const callUpstreamByUser =
  (target: string, more: object = {}) =>
  (scene: Scene) =>
    callByUser({ url: `${scene.world.upstream.url}${target}`, ...more })(scene);
const invalidParams = { status: 400, error: 'invalid_params' };
const invalidRequest = { status: 400, error: 'invalid_request' };
const refusedAddress = { status: 502, error: 'upstream_refused_address' };

/** Calls that cannot succeed, which the gateway refuses before it asks a person for an approval. */
export const badCalls: BadInput[] = [
  {
    what: 'an unknown service, and names the existing ones',
    send: callByBot({ service: 'githob', action: 'list_issues' }),
    status: 404,
    error: 'unknown_service',
    tells: /github.*"available":\["(org\/)?github"\]/,
  },
  {
    what: 'an unknown action, and names the most similar action',
    send: callByBot({ service: 'github', action: 'create_isue', params: {} }),
    status: 404,
    error: 'unknown_action',
    tells: /"did_you_mean":"create_issue"/,
  },
  {
    what: 'an invalid service name',
    send: callByBot({ service: 'GitHub', action: 'list_issues' }),
    ...invalidRequest,
    tells: /"did_you_mean":"github"/,
  },
  {
    what: 'a call without its required params, and names them',
    send: callByBot({ service: 'github', action: 'create_issue', params: { repository } }),
    ...invalidParams,
    tells: /"path":"title"/,
  },
  {
    what: 'an unknown param, and names the most similar param',
    send: callByBot({
      service: 'github',
      action: 'create_issue',
      params: { repository, title: 'a', labls: [] },
    }),
    ...invalidParams,
    tells: /"path":"labls".*"did_you_mean":"labels"/,
  },
  {
    what: 'a param of the wrong type',
    send: callByBot({
      service: 'github',
      action: 'create_issue',
      params: { repository, title: 7 },
    }),
    ...invalidParams,
    tells: /"path":"title".*string/,
  },
  {
    what: 'a value outside an enum, and names the most similar value',
    send: callByBot({
      service: 'github',
      action: 'list_issues',
      params: { repository, state: 'opened' },
    }),
    ...invalidParams,
    tells: /"path":"state".*"did_you_mean":"open"/,
  },
  {
    what: 'a body that is sent as it is, with an integer that JSON readers change',
    send: ({ sendRawRequest: raw }) =>
      raw({
        path,
        body: `{"service":"github","method":"PATCH","path":"/repos/acme/site/issues/1","body":{"milestone":12345678901234567890}}`,
      }),
    ...invalidRequest,
    tells: /body\.milestone.*12345678901234567890/,
  },
  {
    what: 'a path param with dot segments',
    send: callByBot({
      service: 'github',
      action: 'create_issue',
      params: { repository: '../..', title: 'a' },
    }),
    ...invalidParams,
    tells: /repository/,
  },
  {
    what: 'a filter that does not compile',
    send: callByBot({
      service: 'github',
      action: 'list_issues',
      params: { repository },
      filter: '.[',
    }),
    status: 400,
    error: 'filter_invalid',
  },
  {
    what: 'a write when the caller allows reads only',
    send: callByBot({
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
    send: callByBot({ service: 'github', action: 'list_issues', method: 'GET', path: '/' }),
    ...invalidRequest,
    tells: /method/,
  },
  {
    what: 'approval_id together with a call',
    send: ({ bot, approval }) =>
      bot.post(path, { approval_id: approval.approval_id, service: 'github' }),
    ...invalidRequest,
    tells: /"path":"service"/,
  },
  {
    what: 'params given as a string that is not JSON',
    send: callByBot({ service: 'github', action: 'list_issues', params: '{' }),
    ...invalidRequest,
    tells: /params/,
  },
  {
    what: 'an Idempotency-Key with spaces',
    send: callByBot({ service: 'github', action: 'list_issues' }, { 'idempotency-key': 'a b' }),
    ...invalidRequest,
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
    send: callUpstreamByUser('/x', {
      secrets: [{ name: 'no_such_secret', in: 'header', key: 'x-key' }],
    }),
    status: 424,
    error: 'credential_missing',
    tells: /"secret":"no_such_secret"/,
  },
  {
    what: 'a secret for a host that it is not allowed at',
    send: callByUser({
      url: 'https://example.com/',
      secrets: [{ name: 'org/github_token', in: 'header', key: 'x-key' }],
    }),
    status: 403,
    error: 'host_not_allowed',
  },
  { what: 'raw HTTP without a URL', send: callByUser({}), ...invalidRequest, tells: /url/ },
  {
    what: 'raw HTTP with a relative URL',
    send: callByUser({ url: '/x' }),
    ...invalidRequest,
    tells: /full URL/,
  },
  {
    what: 'a method in lower case',
    send: callByUser({ url: 'https://a.example/', method: 'get' }),
    ...invalidRequest,
    tells: /GET/,
  },
  {
    what: 'a method that no API uses',
    send: callByUser({ url: 'https://a.example/', method: 'TRACE' }),
    ...invalidRequest,
  },
  {
    what: 'a user name in a URL',
    send: callByUser({ url: 'https://u:p@a.example/' }),
    ...invalidParams,
  },
  {
    what: 'a URL that is not http or https',
    send: callByUser({ url: 'file:///etc/passwd' }),
    ...invalidRequest,
  },
  {
    what: 'dot segments in a URL',
    send: callUpstreamByUser('/a/../b'),
    ...invalidParams,
    tells: /"\.\.\\"/,
  },
  {
    what: 'encoded dot segments in a URL',
    send: callUpstreamByUser('/a/%2e%2E/b'),
    ...invalidParams,
  },
  {
    what: 'dot segments with a parameter in a URL',
    send: callUpstreamByUser('/a/..;x=1/b'),
    ...invalidParams,
  },
  {
    what: 'an encoded slash in a URL',
    send: callUpstreamByUser('/a%2fb'),
    ...invalidParams,
    tells: /slash/,
  },
  { what: 'an encoded backslash in a URL', send: callUpstreamByUser('/a%5Cb'), ...invalidParams },
  { what: 'a backslash in a URL', send: callUpstreamByUser('/a\\b'), ...invalidParams },
  {
    what: 'an encoded control character in a URL',
    send: callUpstreamByUser('/a%00b'),
    ...invalidParams,
  },
  {
    what: 'invalid percent-encoding in a URL',
    send: callUpstreamByUser('/a%zz'),
    ...invalidParams,
  },
  ...['X-HTTP-Method-Override', 'x-http-method', 'X-Method-Override', 'X_HTTP_METHOD_OVERRIDE'].map(
    (name) => ({
      what: `the header ${name}`,
      send: callUpstreamByUser('/x', { headers: { [name]: 'DELETE' } }),
      ...invalidParams,
      tells: /method/,
    }),
  ),
  {
    what: 'a _method parameter in the URL',
    send: callUpstreamByUser('/x?_method=DELETE'),
    ...invalidParams,
  },
  {
    what: 'a _method parameter',
    send: callUpstreamByUser('/x', { query: { _method: 'DELETE' } }),
    ...invalidParams,
  },
  {
    what: 'a header with a line break',
    send: callUpstreamByUser('/x', { headers: { 'x-a': 'b\r\nx-c: d' } }),
    ...invalidParams,
  },
  {
    what: 'a Host header',
    send: callUpstreamByUser('/x', { headers: { host: 'evil.example' } }),
    ...invalidParams,
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
  ].map((url) => ({ what: `raw HTTP to ${url}`, send: callByUser({ url }), ...refusedAddress })),
  {
    what: 'an unknown action of the platform',
    send: callByBot({ service: 'platform', action: 'allow_everything' }),
    status: 404,
    error: 'unknown_action',
  },
  {
    what: 'the platform by method and path',
    send: callByBot({ service: 'platform', method: 'GET', path: '/whoami' }),
    ...invalidParams,
  },
  {
    what: 'unknown params of a platform action',
    send: callByBot({ service: 'platform', action: 'list_pending', params: { as: 'ann' } }),
    ...invalidParams,
  },
  {
    what: 'bytes that are not base64',
    send: callUpstreamByUser('/x', {
      method: 'PUT',
      headers: { 'content-type': 'image/png' },
      body: { base64: '%%%' },
    }),
    ...invalidParams,
  },
];
