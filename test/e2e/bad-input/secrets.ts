import { randomUUID } from 'node:crypto';

import type { BadInput, Scene } from './scene.ts';

const invalid = { status: 400, error: 'invalid_request' };
const invalidParams = { status: 400, error: 'invalid_params' };
const missing = { status: 404, error: 'not_found' };
const conflict = { status: 409, error: 'conflict' };

const findOrgSecret = async ({ admin }: Scene): Promise<string> => {
  const { body } = await admin.get('/v1/secrets');
  return body.items.find(({ name }: { name: string }) => name === 'github_token').id;
};
const sendToSecret = (method: 'patch' | 'post', pathEnd: string, body?: unknown) => {
  return async (scene: Scene) =>
    scene.admin[method](`/v1/secrets/${await findOrgSecret(scene)}${pathEnd}`, body);
};
const requestSecret = (body: unknown) => (scene: Scene) =>
  scene.bot.post('/v1/secrets/requests', body);
const provideSecret = (token: string, body: unknown) => (scene: Scene) =>
  scene.admin.post(`/v1/provide/${token}`, body);
const providedValue = { value: 'CANARY-filled', allowed_hosts: [] };

/**
 * Invalid requests about secrets, their versions, and the links through which people enter them.
 */
export const badSecrets: BadInput[] = [
  {
    what: 'an empty change of a secret',
    send: sendToSecret('patch', '', {}),
    ...invalid,
  },
  {
    what: 'a new name for a secret',
    send: sendToSecret('patch', '', { name: 'renamed' }),
    ...invalid,
    tells: /name/,
  },
  {
    what: 'a new value in a PATCH of a secret',
    send: sendToSecret('patch', '', { value: 'CANARY-misplaced' }),
    ...invalid,
    tells: /value/,
  },
  ...['https://a.example', 'a.example/x', '*.example', ''].map((host) => ({
    what: `the host ${JSON.stringify(host)} for a secret`,
    send: sendToSecret('patch', '', { allowed_hosts: [host] }),
    status: 400,
    error: host === '' ? 'invalid_request' : 'invalid_params',
    tells: /hosts/,
  })),
  {
    what: 'a secret of the org with an empty list of hosts',
    send: sendToSecret('patch', '', { allowed_hosts: [] }),
    status: 403,
    error: 'host_not_allowed',
  },
  {
    what: "a member's change of the org's secret",
    send: async (scene) =>
      scene.member.patch(`/v1/secrets/${await findOrgSecret(scene)}`, {
        allowed_hosts: ['evil.example'],
      }),
    status: 403,
    error: 'forbidden',
  },
  ...['0', '-1', '1.5', 'x', '99999999999'].map((version) => ({
    what: `restoring the version ${version}`,
    send: sendToSecret('post', `/versions/${version}/restore`),
    ...invalid,
    tells: /version/,
  })),
  {
    what: 'restoring a version that never existed',
    send: sendToSecret('post', '/versions/7/restore'),
    ...missing,
  },
  {
    what: 'restoring the current version',
    send: sendToSecret('post', '/versions/1/restore'),
    ...conflict,
  },
  {
    what: 'a request for a secret without a name',
    send: requestSecret({ reason: 'x' }),
    ...invalid,
  },
  {
    what: 'a request for a secret with its value',
    send: requestSecret({ name: 'wanted', value: 'CANARY-own' }),
    ...invalid,
    tells: /value/,
  },
  ...['8d', '1s', 'soon'].map((ttl) => ({
    what: `a request for a link that works for ${ttl}`,
    send: requestSecret({ name: 'wanted', ttl }),
    ...invalidParams,
    tells: /ttl/,
  })),
  {
    what: 'a request for a secret with an invalid host',
    send: requestSecret({ name: 'wanted', allowed_hosts: ['javascript:alert(1)'] }),
    ...invalidParams,
  },
  {
    what: 'a request for a secret that exists',
    send: requestSecret({ name: 'github_token', tier: 'org' }),
    ...conflict,
    tells: /org\/github_token/,
  },
  ...[randomUUID(), 'x'.repeat(43), '..%2F..%2Fsecrets', '%00'].map((token) => ({
    what: `a value sent to the unknown link ${token}`,
    send: provideSecret(token, providedValue),
    ...missing,
  })),
  {
    what: 'a value without confirmed hosts',
    send: provideSecret('x', { value: 'CANARY-filled' }),
    ...invalid,
    tells: /allowed_hosts/,
  },
];
