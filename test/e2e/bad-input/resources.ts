import { randomUUID } from 'node:crypto';

import { successfulBodyOf, pollUntil } from '../../support/world.ts';
import { badSecrets } from './secrets.ts';
import type { BadInput, Scene } from './scene.ts';
import { createIssue } from './scene.ts';

const resolveApproval = (body: object, id?: string) => (scene: Scene) =>
  scene.admin.post(`/v1/approvals/${id ?? scene.approval.approval_id}/resolve`, body);
const rememberApproval = (more: object) => (scene: Scene) =>
  resolveApproval({
    resolution: 'allow_remember',
    remember_keys: scene.approval.permission_keys,
    ...more,
  })(scene);
const invalid = { status: 400, error: 'invalid_request' };
const missing = { status: 404, error: 'not_found' };

/** Patterns that no permission key can ever match. */
const unmatchedPatterns: readonly [what: string, pattern: string, tells: RegExp][] = [
  [
    'an argument in a spelling that no permission key has',
    'github:create_issue:caf%C3%A9',
    /"café"/,
  ],
  ['a service in capitals', 'GitHub:*:*', /"github"/],
  ['a path that no call can have', 'http:DELETE:h.example/a/%2e%2e/b', /segments/],
  ['another spelling of an address', 'http:GET:127.1/**', /127\.0\.0\.1/],
  ['the default port', 'http:GET:h.example:443/**', /port/],
];

async function raiseApproval({ bot }: Scene, title: string): Promise<string> {
  return successfulBodyOf(await bot.post('/v1/actions/call', createIssue(title))).approval_id;
}

const expireApproval = ({ world }: Scene, id: string) =>
  world.tables.query(
    `update approvals.approval set expires_at = now() - interval '1 second' where id = $1`,
    [id],
  );

/**
 * Requests about approvals and other resources that are invalid, or that this caller may not send.
 */
export const badDecisions: BadInput[] = [
  {
    what: 'an approval that does not exist',
    send: resolveApproval({ resolution: 'allow' }, randomUUID()),
    ...missing,
  },
  {
    what: "another org's approval",
    send: (scene) => resolveApproval({ resolution: 'deny' }, scene.strangersApprovalId)(scene),
    ...missing,
  },
  {
    what: "resuming another org's approval",
    send: ({ bot, strangersApprovalId: strangersApproval }) =>
      bot.post('/v1/actions/call', { approval_id: strangersApproval }),
    ...missing,
  },
  {
    what: 'a decision by a colleague outside the chain of identities',
    send: ({ member, approval }) =>
      member.post(`/v1/approvals/${approval.approval_id}/resolve`, { resolution: 'allow' }),
    status: 403,
    error: 'not_in_your_chain',
  },
  {
    what: "a decision by a colleague's agent",
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
    what: 'an unknown decision',
    send: resolveApproval({ resolution: 'alow' }),
    ...invalid,
    tells: /"did_you_mean":"allow"/,
  },
  { what: 'a missing decision', send: resolveApproval({}), ...invalid, tells: /resolution/ },
  {
    what: 'remember_keys that no suggested rule (tier) contains',
    send: rememberApproval({ remember_keys: ['org/github:*:acme/**'] }),
    status: 422,
    error: 'remember_keys_not_offered',
  },
  {
    what: 'remember_keys with one key that no suggested rule (tier) contains',
    send: (scene) =>
      rememberApproval({
        remember_keys: [...scene.approval.permission_keys, 'org/github:delete_label:*'],
      })(scene),
    status: 422,
    error: 'remember_keys_not_offered',
  },
  ...['59s', '366d', '1y', '-1h', '0m', 'soon', '24'].map((ttl) => ({
    what: `a ttl of ${ttl}`,
    send: rememberApproval({ ttl }),
    status: 400,
    error: 'invalid_params',
    tells: /ttl/,
  })),
  {
    what: 'an approval that is bubbled up beyond the user',
    send: resolveApproval({ resolution: 'bubble' }),
    status: 409,
    error: 'already_at_top',
  },
  {
    what: "a rule for another org's identity",
    send: ({ admin, stranger }) =>
      admin.post('/v1/rules', { identity_id: stranger.id, effect: 'allow', pattern: 'a:b:c' }),
    ...missing,
  },
  {
    what: 'a rule with an invalid pattern',
    send: ({ admin, bot }) =>
      admin.post('/v1/rules', { identity_id: bot.id, effect: 'allow', pattern: 'everything' }),
    status: 400,
    error: 'invalid_params',
    tells: /pattern/,
  },
  ...unmatchedPatterns.map(([what, pattern, tells]): BadInput => ({
    what: `a deny rule with ${what}`,
    send: ({ admin, bot }) =>
      admin.post('/v1/rules', { identity_id: bot.id, effect: 'deny', pattern }),
    status: 400,
    error: 'invalid_params',
    tells,
  })),
  ...['audit?since', 'audit?until', 'usage?from', 'usage?to'].map((query): BadInput => ({
    what: `a time in the year 0 (${query})`,
    send: ({ admin }) => admin.get(`/v1/${query}=0000-01-01T00:00:00Z`),
    status: 400,
    error: 'invalid_request',
    tells: /in the years 1 to 9999/,
  })),
  {
    what: 'rules with an unknown effect',
    send: ({ admin }) => admin.get('/v1/rules?effect=maybe'),
    status: 400,
    error: 'invalid_request',
    tells: /effect/,
  },
  {
    what: 'a template that does not exist, and names the most similar template',
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
    what: 'a secret of the org without hosts',
    send: ({ admin }) =>
      admin.post('/v1/secrets', { name: 'nowhere', value: 'CANARY-nowhere', tier: 'org' }),
    status: 403,
    error: 'host_not_allowed',
  },
  ...badSecrets,
  {
    what: 'a webhook for an unknown event',
    send: ({ admin }) =>
      admin.post('/v1/webhooks', { url: 'https://a.example/', events: ['approval.razed'] }),
    ...invalid,
    tells: /events/,
  },
];

/**
 * Decisions that come too late: each case creates an approval and ends it before it sends the
 * decision.
 */
export const lateDecisions: BadInput[] = [
  {
    what: 'a second decision, and names the first',
    send: async (scene) => {
      const id = await raiseApproval(scene, 'Denied already');
      await resolveApproval({ resolution: 'deny', reason: 'Not today.' }, id)(scene);
      return resolveApproval({ resolution: 'allow' }, id)(scene);
    },
    status: 409,
    error: 'already_resolved',
    tells: /denied.*Not today\.|Not today\..*denied/,
  },
  {
    what: 'a decision after the approval has expired',
    send: async (scene) => {
      const id = await raiseApproval(scene, 'Expired');
      await expireApproval(scene, id);
      return resolveApproval({ resolution: 'allow' }, id)(scene);
    },
    status: 410,
    error: 'expired',
  },
  {
    what: 'resuming an expired approval',
    send: async (scene) => {
      const id = await raiseApproval(scene, 'Expired too');
      await expireApproval(scene, id);
      const path = `/v1/approvals/${id}`;
      await pollUntil(
        async () => (await scene.admin.get(path)).body.status === 'expired',
        'the clock',
      );
      return scene.bot.post('/v1/actions/call', { approval_id: id });
    },
    status: 410,
    error: 'expired',
  },
  {
    what: 'running a denied approval',
    send: async (scene) => {
      const id = await raiseApproval(scene, 'Denied, and called all the same');
      await resolveApproval({ resolution: 'deny' }, id)(scene);
      return scene.admin.post(`/v1/approvals/${id}/call`);
    },
    status: 409,
    error: 'conflict',
  },
  {
    what: 'a call with a secret that was deleted, and names the secret',
    send: async ({ admin, bot }) => {
      const secret = successfulBodyOf(
        await admin.post('/v1/secrets', {
          name: 'sendgrid_api_key',
          value: 'CANARY-deleted',
          tier: 'org',
          allowed_hosts: ['api.sendgrid.com'],
        }),
      );
      successfulBodyOf(await admin.post('/v1/services', { template: 'sendgrid', tier: 'org' }));
      successfulBodyOf(await admin.delete(`/v1/secrets/${secret.id}`));
      return bot.post('/v1/actions/call', { service: 'sendgrid', action: 'list_verified_senders' });
    },
    status: 424,
    error: 'credential_missing',
    tells: /"secret":"org\/sendgrid_api_key"/,
  },
  {
    what: 'the download of an expired file',
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
