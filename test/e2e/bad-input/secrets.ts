import { randomUUID } from 'node:crypto';

import type { BadInput, Scene } from './scene.ts';

const invalid = { status: 400, error: 'invalid_request' };
const wrong = { status: 400, error: 'invalid_params' };
const missing = { status: 404, error: 'not_found' };
const taken = { status: 409, error: 'conflict' };

const orgsSecret = async ({ admin }: Scene): Promise<string> => {
  const { body } = await admin.get('/v1/secrets');
  return body.items.find(({ name }: { name: string }) => name === 'github_token').id;
};
const onSecret = (method: 'patch' | 'post', more: string, body?: unknown) => {
  return async (scene: Scene) =>
    scene.admin[method](`/v1/secrets/${await orgsSecret(scene)}${more}`, body);
};
const ask = (body: unknown) => (scene: Scene) => scene.bot.post('/v1/secrets/requests', body);
const provide = (token: string, body: unknown) => (scene: Scene) =>
  scene.admin.post(`/v1/provide/${token}`, body);
const filled = { value: 'CANARY-filled', allowed_hosts: [] };

/** Secrets, their versions, and the links on which they are entered. */
export const badSecrets: BadInput[] = [
  {
    what: 'a change of a secret that changes nothing',
    send: onSecret('patch', '', {}),
    ...invalid,
  },
  {
    what: 'another name for a secret',
    send: onSecret('patch', '', { name: 'renamed' }),
    ...invalid,
    tells: /name/,
  },
  {
    what: 'a value where only hosts are changed',
    send: onSecret('patch', '', { value: 'CANARY-misplaced' }),
    ...invalid,
    tells: /value/,
  },
  ...['https://a.example', 'a.example/x', '*.example', ''].map((host) => ({
    what: `the host ${JSON.stringify(host)} for a secret`,
    send: onSecret('patch', '', { allowed_hosts: [host] }),
    status: 400,
    error: host === '' ? 'invalid_request' : 'invalid_params',
    tells: /hosts/,
  })),
  {
    what: 'a secret of the org that is to go nowhere',
    send: onSecret('patch', '', { allowed_hosts: [] }),
    status: 403,
    error: 'host_not_allowed',
  },
  {
    what: "a member's change of the org's secret",
    send: async (scene) =>
      scene.member.patch(`/v1/secrets/${await orgsSecret(scene)}`, {
        allowed_hosts: ['evil.example'],
      }),
    status: 403,
    error: 'forbidden',
  },
  ...['0', '-1', '1.5', 'x', '99999999999'].map((version) => ({
    what: `restoring the version ${version}`,
    send: onSecret('post', `/versions/${version}/restore`),
    ...invalid,
    tells: /version/,
  })),
  {
    what: 'restoring a version that never was',
    send: onSecret('post', '/versions/7/restore'),
    ...missing,
  },
  {
    what: 'restoring the version that is current',
    send: onSecret('post', '/versions/1/restore'),
    ...taken,
  },
  { what: 'a request for a secret without a name', send: ask({ reason: 'x' }), ...invalid },
  {
    what: 'a request for a secret with its value',
    send: ask({ name: 'wanted', value: 'CANARY-own' }),
    ...invalid,
    tells: /value/,
  },
  ...['8d', '1s', 'soon'].map((ttl) => ({
    what: `a link that works for ${ttl}`,
    send: ask({ name: 'wanted', ttl }),
    ...wrong,
    tells: /ttl/,
  })),
  {
    what: 'a request for a host that is none',
    send: ask({ name: 'wanted', allowed_hosts: ['javascript:alert(1)'] }),
    ...wrong,
  },
  {
    what: 'a request for a secret that exists',
    send: ask({ name: 'github_token', tier: 'org' }),
    ...taken,
    tells: /org\/github_token/,
  },
  ...[randomUUID(), 'x'.repeat(43), '..%2F..%2Fsecrets', '%00'].map((token) => ({
    what: `the link ${token}`,
    send: provide(token, filled),
    ...missing,
  })),
  {
    what: 'a link whose hosts nobody confirmed',
    send: provide('x', { value: 'CANARY-filled' }),
    ...invalid,
    tells: /allowed_hosts/,
  },
];
