import { randomUUID } from 'node:crypto';

import { created, until } from '../support/world.ts';
import { badSecrets } from './secrets.ts';
import type { BadInput, Scene } from './scene.ts';
import { createIssue } from './scene.ts';

const resolve = (body: object, id?: string) => (scene: Scene) =>
  scene.admin.post(`/v1/approvals/${id ?? scene.approval.approval_id}/resolve`, body);
const remember = (more: object) => (scene: Scene) =>
  resolve({
    resolution: 'allow_remember',
    remember_keys: scene.approval.permission_keys,
    ...more,
  })(scene);
const invalid = { status: 400, error: 'invalid_request' };
const missing = { status: 404, error: 'not_found' };

/** Patterns that no key could ever match. */
const unmatched: readonly [what: string, pattern: string, tells: RegExp][] = [
  ['an argument spelled as in no key', 'github:create_issue:caf%C3%A9', /"café"/],
  ['a service in capitals', 'GitHub:*:*', /"github"/],
  ['a path that no call can have', 'http:DELETE:h.example/a/%2e%2e/b', /segments/],
  ['another spelling of an address', 'http:GET:127.1/**', /127\.0\.0\.1/],
  ['the default port', 'http:GET:h.example:443/**', /port/],
];

async function raise({ bot }: Scene, title: string): Promise<string> {
  return created(await bot.post('/v1/actions/call', createIssue(title))).approval_id;
}

const expire = ({ world }: Scene, id: string) =>
  world.tables.query(
    `update approvals.approval set expires_at = now() - interval '1 second' where id = $1`,
    [id],
  );

/** Approvals and other things that exist, but not for this caller, not like this, or not any more. */
export const badDecisions: BadInput[] = [
  {
    what: 'an approval that does not exist',
    send: resolve({ resolution: 'allow' }, randomUUID()),
    ...missing,
  },
  {
    what: "another org's approval",
    send: (scene) => resolve({ resolution: 'deny' }, scene.strangersApproval)(scene),
    ...missing,
  },
  {
    what: "resuming another org's approval",
    send: ({ bot, strangersApproval }) =>
      bot.post('/v1/actions/call', { approval_id: strangersApproval }),
    ...missing,
  },
  {
    what: 'a colleague outside the chain',
    send: ({ member, approval }) =>
      member.post(`/v1/approvals/${approval.approval_id}/resolve`, { resolution: 'allow' }),
    status: 403,
    error: 'not_in_your_chain',
  },
  {
    what: "a colleague's agent",
    send: ({ other, approval }) => other.get(`/v1/approvals/${approval.approval_id}`),
    status: 403,
    error: 'not_in_your_chain',
  },
  {
    what: 'the requester allowing its own call over REST',
    send: ({ bot, approval }) =>
      bot.post(`/v1/approvals/${approval.approval_id}/resolve`, { resolution: 'allow' }),
    status: 403,
    error: 'self_approval_disabled',
  },
  {
    what: 'a decision that is none',
    send: resolve({ resolution: 'alow' }),
    ...invalid,
    tells: /"did_you_mean":"allow"/,
  },
  { what: 'no decision', send: resolve({}), ...invalid, tells: /resolution/ },
  {
    what: 'remember_keys that no tier offers',
    send: remember({ remember_keys: ['org/github:*:acme/**'] }),
    status: 422,
    error: 'remember_keys_not_offered',
  },
  {
    what: 'remember_keys of which one is not offered',
    send: (scene) =>
      remember({ remember_keys: [...scene.approval.permission_keys, 'org/github:delete_label:*'] })(
        scene,
      ),
    status: 422,
    error: 'remember_keys_not_offered',
  },
  ...['59s', '366d', '1y', '-1h', '0m', 'soon', '24'].map((ttl) => ({
    what: `a ttl of ${ttl}`,
    send: remember({ ttl }),
    status: 400,
    error: 'invalid_params',
    tells: /ttl/,
  })),
  {
    what: 'bubbling above the user',
    send: resolve({ resolution: 'bubble' }),
    status: 409,
    error: 'already_at_top',
  },
  {
    what: "another org's identity in a rule",
    send: ({ admin, stranger }) =>
      admin.post('/v1/rules', { identity_id: stranger.id, effect: 'allow', pattern: 'a:b:c' }),
    ...missing,
  },
  {
    what: 'a rule that is no pattern',
    send: ({ admin, bot }) =>
      admin.post('/v1/rules', { identity_id: bot.id, effect: 'allow', pattern: 'everything' }),
    status: 400,
    error: 'invalid_params',
    tells: /pattern/,
  },
  ...unmatched.map(([what, pattern, tells]): BadInput => ({
    what: `a deny rule with ${what}`,
    send: ({ admin, bot }) =>
      admin.post('/v1/rules', { identity_id: bot.id, effect: 'deny', pattern }),
    status: 400,
    error: 'invalid_params',
    tells,
  })),
  {
    what: 'rules of an effect that there is not',
    send: ({ admin }) => admin.get('/v1/rules?effect=maybe'),
    status: 400,
    error: 'invalid_request',
    tells: /effect/,
  },
  {
    what: 'a template that does not exist, and names the nearest',
    send: ({ admin }) => admin.post('/v1/services', { template: 'gihub' }),
    ...missing,
    tells: /github/,
  },
  {
    what: 'a service name that is taken',
    send: ({ admin, world }) =>
      admin.post('/v1/services', { template: 'github', tier: 'org', base_url: world.upstream.url }),
    status: 409,
    error: 'conflict',
  },
  {
    what: 'an agent name that is taken',
    send: ({ admin }) => admin.post('/v1/identities/agents', { name: 'bot' }),
    status: 409,
    error: 'conflict',
  },
  ...['http', 'Deploy', '9lives', 'a b', 'x'.repeat(64), ''].map((name) => ({
    what: `the agent name ${JSON.stringify(name.slice(0, 10))}`,
    send: ({ admin }: Scene) => admin.post('/v1/identities/agents', { name }),
    ...invalid,
    tells: /name/,
  })),
  {
    what: 'an empty secret',
    send: ({ admin }) => admin.post('/v1/secrets', { name: 'empty', value: '' }),
    ...invalid,
    tells: /value/,
  },
  {
    what: 'a secret of the org that says no hosts',
    send: ({ admin }) =>
      admin.post('/v1/secrets', { name: 'nowhere', value: 'CANARY-nowhere', tier: 'org' }),
    status: 403,
    error: 'host_not_allowed',
  },
  ...badSecrets,
  {
    what: 'a webhook for an event there is none of',
    send: ({ admin }) =>
      admin.post('/v1/webhooks', { url: 'https://a.example/', events: ['approval.razed'] }),
    ...invalid,
    tells: /events/,
  },
];

/** What was open once: made for the case, and ended before it is sent. */
export const lateDecisions: BadInput[] = [
  {
    what: 'a second decision, and tells the one that won',
    send: async (scene) => {
      const id = await raise(scene, 'Denied already');
      await resolve({ resolution: 'deny', reason: 'Not today.' }, id)(scene);
      return resolve({ resolution: 'allow' }, id)(scene);
    },
    status: 409,
    error: 'already_resolved',
    tells: /denied.*Not today\.|Not today\..*denied/,
  },
  {
    what: 'a decision after the time is over',
    send: async (scene) => {
      const id = await raise(scene, 'Expired');
      await expire(scene, id);
      return resolve({ resolution: 'allow' }, id)(scene);
    },
    status: 410,
    error: 'expired',
  },
  {
    what: 'resuming what has expired',
    send: async (scene) => {
      const id = await raise(scene, 'Expired too');
      await expire(scene, id);
      const path = `/v1/approvals/${id}`;
      await until(async () => (await scene.admin.get(path)).body.status === 'expired', 'the clock');
      return scene.bot.post('/v1/actions/call', { approval_id: id });
    },
    status: 410,
    error: 'expired',
  },
  {
    what: 'running what was denied',
    send: async (scene) => {
      const id = await raise(scene, 'Denied, and called all the same');
      await resolve({ resolution: 'deny' }, id)(scene);
      return scene.admin.post(`/v1/approvals/${id}/call`);
    },
    status: 409,
    error: 'conflict',
  },
  {
    what: 'a call with a secret that was deleted, and names it',
    send: async ({ admin, bot }) => {
      const secret = created(
        await admin.post('/v1/secrets', {
          name: 'sendgrid_api_key',
          value: 'CANARY-deleted',
          tier: 'org',
          allowed_hosts: ['api.sendgrid.com'],
        }),
      );
      created(await admin.post('/v1/services', { template: 'sendgrid', tier: 'org' }));
      created(await admin.delete(`/v1/secrets/${secret.id}`));
      return bot.post('/v1/actions/call', { service: 'sendgrid', action: 'list_verified_senders' });
    },
    status: 424,
    error: 'credential_missing',
    tells: /"secret":"org\/sendgrid_api_key"/,
  },
  {
    what: 'a file whose hour is over',
    send: async ({ world: { tables }, admin }) => {
      const id = randomUUID();
      await tables.query(
        `insert into executor.file (id, org_id, audience, chunks_id, name, content_type, size, sha256, expires_at)
         values ($1, $2, $3, 'none', 'late.png', 'image/png', 1, '0', now())`,
        [id, admin.orgId, [admin.id]],
      );
      return admin.get(`/v1/files/${id}`);
    },
    status: 410,
    error: 'expired',
  },
];
