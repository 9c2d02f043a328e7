import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { ServiceRecord } from '#contracts/bus/registry';
import type { Call } from '#contracts/call';
import type { Gap } from '#contracts/permit';
import type { AuthMethod } from '#contracts/template';
import type { ErrorCode } from '#errors';
import { github, templateOf } from './domain/action.testing.ts';
import {
  connectGithub,
  createIssue,
  createPolicyWorld,
  host,
  httpCallOf,
  listIssues,
  options,
  soon,
} from './world.testing.ts';
import type { TestIdentity, PolicyWorld } from './world.testing.ts';

let world: PolicyWorld;
let ann: TestIdentity;
let bot: TestIdentity;
/** A version never changes, so each test has its own. */
let version = 0;
let connection: PolicyWorld['neighbours']['connections'][number];

const account: AuthMethod = {
  type: 'oauth2',
  scheme: 'account',
  provider: 'github',
  authorizationUrl: 'https://github.example/authorize',
  tokenUrl: 'https://github.example/token',
  scopes: ['repo', 'read:org'],
};
const token: AuthMethod = {
  type: 'apiKey',
  scheme: 'token',
  in: 'header',
  name: 'X-Token',
  prefix: '',
  encoding: 'raw',
  defaultSecretName: 'github_token',
};

beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(() => {
  const { services, secrets, connections } = world.neighbours;
  for (const list of [services, secrets, connections]) list.length = 0;
  ann = world.user('ann', { orgId: newId() });
  bot = world.below(ann, 'bot');
});

/** GitHub as its template says, used by an account of Ann's that was granted `repo`. */
async function connect(security: string[][], more: Partial<ServiceRecord> = {}) {
  const actions = [
    github.listIssues,
    { ...github.createIssue, minimumScopes: ['repo'] },
    { ...github.getMe, minimumScopes: ['repo', 'read:org'] },
  ];
  const { templates, connections } = world.neighbours;
  templates.length = 0;
  templates.push(
    templateOf(actions, { auth: [account, token], security, version: (version += 1) }),
  );
  connection = {
    orgId: ann.orgId,
    reference: 'work',
    id: newId(),
    provider: 'github',
    status: 'active',
    allowedHosts: [host],
    grantedScopes: ['repo'],
    authUrl: 'https://gateway.example/connect/repair/1',
  };
  connections.push(connection);
  const service = connectGithub(world, ann, {
    secrets: {},
    connection: 'work',
    template: { key: 'github', tier: 'global', ownerId: null, version },
    ...more,
  });
  await world.settle();
  return service;
}

async function change(more: Partial<typeof connection>) {
  Object.assign(connection, more);
  await world.settle();
}

const refused = (code: ErrorCode, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });
const bearer = () => ({
  kind: 'connection',
  credentialId: connection.id,
  credentialName: 'work',
  in: 'header',
  key: 'Authorization',
  prefix: 'Bearer ',
  encoding: 'raw',
});
const getMe: Call = { ...listIssues, action: 'users.me', params: {} };
const raw = httpCallOf({ connection: 'work' });

describe('an action of a service that uses an account', () => {
  test('injects the token of its connection, which stands in no key of its own', async () => {
    await connect([['account']]);

    expect(world.permitIn(await world.decide(bot, listIssues))).toMatchObject({
      keys: ['github:issues.list:site'],
      injections: [bearer()],
    });
  });

  test.for([
    ['pending', 'needs_authentication', 'connection_id'],
    ['needs_reauth', 'reauth_required', 'connection_id'],
    ['revoked', 'credential_missing', 'connection'],
  ] as const)('is refused with %s before anybody is asked', async ([status, code, told]) => {
    await connect([['account']]);
    await change({ status });

    const { id, authUrl } = connection;
    const details = told === 'connection' ? { [told]: 'work' } : { [told]: id, auth_url: authUrl };
    for (const who of [bot, ann]) {
      await expect(world.decide(who, createIssue)).rejects.toEqual(refused(code, details));
    }
  });

  test('is refused when the connection is gone, is at another provider, or was never named', async () => {
    const service = await connect([['account']]);
    await change({ provider: 'gitlab' });
    await expect(world.decide(bot, listIssues)).rejects.toEqual(refused('credential_missing'));
    world.neighbours.connections.length = 0;
    await world.settle();
    await expect(world.decide(bot, listIssues)).rejects.toEqual(
      refused('credential_missing', { connection: 'work' }),
    );
    service.connection = null;
    await world.settle();
    await expect(world.decide(bot, listIssues)).rejects.toEqual(
      refused('credential_missing', { connection: 'github' }),
    );
  });

  test.for([[['elsewhere.example']], [[]]])('is refused when it may go to %j', async ([hosts]) => {
    await connect([['account']]);
    await change({ allowedHosts: hosts ?? [] });

    await expect(world.decide(bot, listIssues)).rejects.toEqual(
      refused('host_not_allowed', { connection: 'work', host }),
    );
  });

  test('needs the scopes of the action and none beyond them', async () => {
    await connect([['account']]);

    await expect(world.decide(ann, getMe)).rejects.toEqual(
      refused('missing_scopes', {
        missing: ['read:org'],
        connection_id: connection.id,
        auth_url: `${connection.authUrl}?scope=read%3Aorg`,
      }),
    );
    await change({ grantedScopes: ['read:org', 'repo'] });
    expect((await world.decide(ann, getMe)).outcome).toBe('permit');
    await change({ grantedScopes: [] });
    expect((await world.decide(bot, listIssues)).outcome).toBe('permit');
    const asked = { principal: world.sign(ann), call: createIssue, options, asIdentityId: bot.id };
    await expect(world.gateway.explain(asked, soon())).rejects.toEqual(
      refused('missing_scopes', { missing: ['repo'] }),
    );
  });
});

describe('alternatives', () => {
  const secret = () =>
    world.neighbours.secrets.push({
      reference: 'github_token',
      orgId: ann.orgId,
      id: newId(),
      allowedHosts: [host],
    });

  test('an account and a secret that belong together are both injected', async () => {
    secret();
    await connect([['account', 'token']], { secrets: { token: 'github_token' } });

    expect(world.permitIn(await world.decide(bot, listIssues)).injections).toMatchObject([
      bearer(),
      { kind: 'secret', credentialName: 'github_token', key: 'X-Token' },
    ]);
    world.neighbours.secrets.length = 0;
    await world.settle();
    await expect(world.decide(bot, listIssues)).rejects.toEqual(
      refused('credential_missing', { secret: 'github_token' }),
    );
  });

  test('what the service was connected with is used, whatever stands first', async () => {
    secret();
    await connect([['account'], ['token']], {
      connection: null,
      secrets: { token: 'github_token' },
    });

    expect(world.permitIn(await world.decide(bot, getMe)).injections).toMatchObject([
      { kind: 'secret', credentialName: 'github_token' },
    ]);
  });

  test('an account that has to be authorised again says so, and nothing else is sent', async () => {
    await connect([['account'], ['token'], []]);
    await change({ status: 'needs_reauth' });

    await expect(world.decide(bot, listIssues)).rejects.toEqual(refused('reauth_required'));
  });
});

describe('a call that names its host', () => {
  test.for(['verb', 'raw'] as const)('of kind %s has a key for the connection', async (kind) => {
    await connect([['account']]);
    const call = kind === 'raw' ? raw : httpCallOf({ service: 'github', target: '/zen' });
    const keys = [`http:GET:${host}/zen`, `connection:work:${host}`];

    const gap = world.gapIn(await world.decide(bot, call));
    expect(gap).toMatchObject({ keys, uncoveredKeys: keys, injections: [bearer()] });
    await world.rule(ann, bot, `allow http:GET:${host}/**`);
    await world.settle();
    expect(world.gapIn(await world.decide(bot, call)).uncoveredKeys).toEqual([keys[1]]);
    await world.rule(ann, bot, `allow connection:work:${host}`);
    await world.settle();
    expect(world.permitIn(await world.decide(bot, call)).keys).toEqual(keys);
    await world.rule(ann, bot, 'deny connection:work:*');
    await world.settle();
    expect((await world.decide(bot, call)).outcome).toBe('denied');
  });

  test('goes with a connection to its own hosts only, for users too', async () => {
    await connect([['account']]);
    const elsewhere = httpCallOf({ connection: 'work', target: 'https://evil.example/zen' });

    for (const who of [bot, ann]) {
      await expect(world.decide(who, elsewhere)).rejects.toEqual(
        refused('host_not_allowed', { connection: 'work', host: 'evil.example' }),
      );
    }
    await change({ allowedHosts: [] });
    await expect(world.decide(ann, raw)).rejects.toEqual(refused('host_not_allowed'));
  });

  test('is refused without its connection, and where the service brings one', async () => {
    await connect([['account']]);

    const unknown = httpCallOf({ connection: 'nobodys' });
    await expect(world.decide(bot, unknown)).rejects.toEqual(
      refused('credential_missing', { connection: 'nobodys' }),
    );
    const twice = httpCallOf({ service: 'github', target: '/zen', connection: 'work' });
    await expect(world.decide(bot, twice)).rejects.toEqual(refused('invalid_params'));
    const secrets = [{ name: 'github_token', in: 'header' as const, key: 'authorization' }];
    world.neighbours.secrets.push({
      reference: 'github_token',
      orgId: ann.orgId,
      id: newId(),
      allowedHosts: [host],
    });
    await world.settle();
    const samePlace = httpCallOf({ connection: 'work', secrets });
    await expect(world.decide(bot, samePlace)).rejects.toEqual(refused('invalid_params'));
  });
});

describe('the replay', () => {
  const replay = (gap: Gap) =>
    world.approvals.permitReplay(
      {
        gap: world.signGap(gap),
        decision: world.decision(gap, ann),
        executionId: newId(),
        cascade: null,
      },
      soon(),
    );
  const gapOf = async (call: Call) => world.gapIn(await world.decide(bot, call));

  test.for([
    ['an action', createIssue],
    ['a verb call', httpCallOf({ service: 'github', target: '/zen' })],
    ['a raw call', raw],
  ] as const)('of %s goes through with the connection that was approved', async ([, call]) => {
    await connect([['account']]);
    const gap = await gapOf(call);

    expect(await replay(gap)).toMatchObject({ outcome: 'permit' });
    await change({ status: 'needs_reauth' });
    await expect(replay(gap)).rejects.toEqual(
      refused('reauth_required', { connection_id: connection.id }),
    );
    await change({ status: 'active', allowedHosts: ['elsewhere.example'] });
    await expect(replay(gap)).rejects.toEqual(refused('approval_stale', { changed: 'credential' }));
    await change({ allowedHosts: [host], id: newId() });
    await expect(replay(gap)).rejects.toEqual(refused('approval_stale', { changed: 'credential' }));
    world.neighbours.connections.length = 0;
    await world.settle();
    await expect(replay(gap)).rejects.toEqual(refused('credential_missing'));
  });

  test('asks for the scopes again', async () => {
    await connect([['account']]);
    const gap = await gapOf(createIssue);
    await change({ grantedScopes: ['read:org'] });

    await expect(replay(gap)).rejects.toEqual(
      refused('missing_scopes', { missing: ['repo'], connection_id: connection.id }),
    );
  });

  test('does not take another connection of the service', async () => {
    const service = await connect([['account']]);
    const gap = await gapOf(createIssue);
    world.neighbours.connections.push({ ...connection, id: newId(), reference: 'private' });
    service.connection = 'private';
    await world.settle();

    await expect(replay(gap)).rejects.toEqual(refused('approval_stale', { changed: 'credential' }));
  });
});
