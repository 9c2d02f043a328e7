import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { ServiceRecord } from '#contracts/bus/registry';
import type { Call } from '#contracts/call';
import type { Gap } from '#contracts/permit';
import type { AuthMethod, CompiledAction } from '#contracts/template';
import type { ErrorCode } from '#errors';
import { github, templateOf } from '../action.testing.ts';
import {
  connectGithub,
  createIssue,
  createPolicyWorld,
  host,
  httpCallOf,
  listIssues,
  callOptions,
  testDeadline,
} from '../world.testing.ts';
import type { TestIdentity, PolicyWorld } from '../world.testing.ts';

let world: PolicyWorld;
let ann: TestIdentity;
let bot: TestIdentity;
/** The content of a template version never changes, so each test uses another version. */
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

/** Connects GitHub as its template says, with Ann's account, which was granted the scope `repo`. */
async function connect(
  security: string[][],
  { ofGetMe, ...more }: Partial<ServiceRecord> & { ofGetMe?: CompiledAction['security'] } = {},
) {
  const actions = [
    github.listIssues,
    { ...github.createIssue, minimumScopes: ['repo'] },
    {
      ...github.getMe,
      ...(ofGetMe === undefined ? {} : { security: ofGetMe }),
      minimumScopes: ['repo', 'read:org'],
    },
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

async function changeConnection(more: Partial<typeof connection>) {
  Object.assign(connection, more);
  await world.settle();
}

const refusalWith = (code: ErrorCode, details: object = {}) =>
  expect.objectContaining({ code, details: expect.objectContaining(details) });
const createBearerInjection = () => ({
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

describe('an action of a service with a connection', () => {
  test('injects the token of the connection and needs no permission key for it', async () => {
    await connect([['account']]);

    expect(world.permitIn(await world.decide(bot, listIssues))).toMatchObject({
      keys: ['github:issues.list:site'],
      injections: [createBearerInjection()],
    });
  });

  test.for([
    ['pending', 'needs_authentication', 'connection_id'],
    ['needs_reauth', 'reauth_required', 'connection_id'],
    ['revoked', 'credential_missing', 'connection'],
  ] as const)(
    'is refused, before a person is asked, when the connection has the status %s',
    async ([status, code, told]) => {
      await connect([['account']]);
      await changeConnection({ status });

      const { id, authUrl } = connection;
      const details =
        told === 'connection' ? { [told]: 'work' } : { [told]: id, auth_url: authUrl };
      for (const who of [bot, ann]) {
        await expect(world.decide(who, createIssue)).rejects.toEqual(refusalWith(code, details));
      }
    },
  );

  test('is refused when the connection was deleted, belongs to another provider, or was never given to the service', async () => {
    const service = await connect([['account']]);
    await changeConnection({ provider: 'gitlab' });
    await expect(world.decide(bot, listIssues)).rejects.toEqual(refusalWith('credential_missing'));
    world.neighbours.connections.length = 0;
    await world.settle();
    await expect(world.decide(bot, listIssues)).rejects.toEqual(
      refusalWith('credential_missing', { connection: 'work' }),
    );
    service.connection = null;
    await world.settle();
    await expect(world.decide(bot, listIssues)).rejects.toEqual(
      refusalWith('credential_missing', { connection: 'github' }),
    );
  });

  test.for([[['elsewhere.example']], [[]]])(
    'is refused when the token of the connection may go only to the hosts %j',
    async ([hosts]) => {
      await connect([['account']]);
      await changeConnection({ allowedHosts: hosts ?? [] });

      await expect(world.decide(bot, listIssues)).rejects.toEqual(
        refusalWith('host_not_allowed', { connection: 'work', host }),
      );
    },
  );

  test('needs a connection with exactly the OAuth scopes that the action requires', async () => {
    await connect([['account']]);

    await expect(world.decide(ann, getMe)).rejects.toEqual(
      refusalWith('missing_scopes', {
        missing: ['read:org'],
        connection_id: connection.id,
        auth_url: `${connection.authUrl}?scope=read%3Aorg`,
      }),
    );
    await changeConnection({ hasOpaqueScopes: true });
    expect((await world.decide(ann, getMe)).outcome).toBe('permit');
    delete connection.hasOpaqueScopes;
    await changeConnection({ grantedScopes: ['read:org', 'repo'] });
    expect((await world.decide(ann, getMe)).outcome).toBe('permit');
    await changeConnection({ grantedScopes: [] });
    expect((await world.decide(bot, listIssues)).outcome).toBe('permit');
    const request = {
      principal: world.sign(ann),
      call: createIssue,
      options: callOptions,
      asIdentityId: bot.id,
    };
    await expect(world.gateway.explain(request, testDeadline())).rejects.toEqual(
      refusalWith('missing_scopes', { missing: ['repo'] }),
    );
  });
});

describe('an action with alternative sets of OAuth scopes', () => {
  const alternatives = [
    { account: ['admin:org'] },
    { account: ['public_repo', 'read:org'] },
    { account: ['read:user', 'read:org', 'gist'] },
    { token: [] },
  ];
  const connectWith = (
    ofGetMe: NonNullable<CompiledAction['security']>,
    ways: string[][] = [['account']],
  ) => connect(ways, { ofGetMe });

  test('can be called when the granted scopes contain or imply all scopes of any alternative', async () => {
    await connectWith(alternatives);
    for (const granted of [
      ['repo', 'admin:org'],
      ['repo', 'write:org'],
      ['user', 'gist', 'read:org'],
    ]) {
      await changeConnection({ grantedScopes: granted });
      expect((await world.decide(ann, getMe)).outcome).toBe('permit');
    }
  });

  test('requests the fewest additional scopes, and the narrowest ones if several alternatives need equally few', async () => {
    await connectWith(alternatives);
    for (const [granted, missing] of [
      [['repo'], ['read:org']],
      [['gist', 'read:user'], ['read:org']],
      [['notifications'], ['admin:org']],
    ] as const) {
      await changeConnection({ grantedScopes: [...granted] });
      await expect(world.decide(ann, getMe)).rejects.toEqual(
        refusalWith('missing_scopes', {
          missing,
          auth_url: `${connection.authUrl}?scope=${encodeURIComponent(missing.join(' '))}`,
        }),
      );
    }
  });

  test('is refused, before a person is asked, when no alternative uses the security scheme of the service’s connection', async () => {
    await connectWith([{ token: [] }], [['account'], ['token']]);

    for (const who of [ann, bot]) {
      await expect(world.decide(who, getMe)).rejects.toEqual(
        refusalWith('missing_scopes', { connect_as: ['token'] }),
      );
    }
    expect((await world.decide(bot, listIssues)).outcome).toBe('permit');
  });
});

describe('a service that is connected by a recorded alternative of its template', () => {
  test('uses that alternative, even if an earlier alternative of the template would work too', async () => {
    world.neighbours.secrets.push({
      reference: 'github_token',
      orgId: ann.orgId,
      id: newId(),
      allowedHosts: [host],
    });
    const service = await connect([['account'], ['token']], {
      secrets: { token: 'github_token' },
      schemes: ['token'],
    });
    const listInjections = async () =>
      world.permitIn(await world.decide(bot, listIssues)).injections;

    expect(await listInjections()).toMatchObject([{ credentialName: 'github_token' }]);
    service.schemes = ['account'];
    await world.settle();
    expect(await listInjections()).toMatchObject([{ credentialName: 'work' }]);
    // An earlier release gave the service other credentials. It does not know the recorded
    // alternative.
    Object.assign(service, { schemes: ['token'], secrets: {} });
    await world.settle();
    expect(await listInjections()).toMatchObject([{ credentialName: 'work' }]);
  });

  test('accepts no connection that acts as another kind of identity at the provider', async () => {
    await connect([['account']]);
    await changeConnection({ actsAs: 'bot' });
    await expect(world.decide(bot, listIssues)).rejects.toEqual(refusalWith('credential_missing'));
  });
});

describe('a call whose template has alternative credentials', () => {
  const addSecret = () =>
    world.neighbours.secrets.push({
      reference: 'github_token',
      orgId: ann.orgId,
      id: newId(),
      allowedHosts: [host],
    });

  test('injects a connection and a secret that are required together', async () => {
    addSecret();
    await connect([['account', 'token']], { secrets: { token: 'github_token' } });

    expect(world.permitIn(await world.decide(bot, listIssues)).injections).toMatchObject([
      createBearerInjection(),
      { kind: 'secret', credentialName: 'github_token', key: 'X-Token' },
    ]);
    world.neighbours.secrets.length = 0;
    await world.settle();
    await expect(world.decide(bot, listIssues)).rejects.toEqual(
      refusalWith('credential_missing', { secret: 'github_token' }),
    );
  });

  test('uses the credential that the service was connected with, whatever the order in the template', async () => {
    addSecret();
    await connect([['account'], ['token']], {
      connection: null,
      secrets: { token: 'github_token' },
    });

    expect(world.permitIn(await world.decide(bot, getMe)).injections).toMatchObject([
      { kind: 'secret', credentialName: 'github_token' },
    ]);
  });

  test('reports a connection that must be authorised again, and does not use another credential instead', async () => {
    await connect([['account'], ['token'], []]);
    await changeConnection({ status: 'needs_reauth' });

    await expect(world.decide(bot, listIssues)).rejects.toEqual(refusalWith('reauth_required'));
  });
});

describe('a call by HTTP method, on a service or to a full URL', () => {
  test.for(['verb', 'raw'] as const)(
    'needs, for a %s call, a permission key for the connection',
    async (kind) => {
      await connect([['account']]);
      const call = kind === 'raw' ? raw : httpCallOf({ service: 'github', target: '/zen' });
      const keys = [`http:GET:${host}/zen`, `connection:work:${host}`];

      const gap = world.gapIn(await world.decide(bot, call));
      expect(gap).toMatchObject({
        keys,
        uncoveredKeys: keys,
        injections: [createBearerInjection()],
      });
      await world.rule(ann, bot, `allow http:GET:${host}/**`);
      await world.settle();
      expect(world.gapIn(await world.decide(bot, call)).uncoveredKeys).toEqual([keys[1]]);
      await world.rule(ann, bot, `allow connection:work:${host}`);
      await world.settle();
      expect(world.permitIn(await world.decide(bot, call)).keys).toEqual(keys);
      await world.rule(ann, bot, 'deny connection:work:*');
      await world.settle();
      expect((await world.decide(bot, call)).outcome).toBe('denied');
    },
  );

  test("sends a connection's token only to its own hosts, also for users", async () => {
    await connect([['account']]);
    const callElsewhere = httpCallOf({ connection: 'work', target: 'https://evil.example/zen' });

    for (const who of [bot, ann]) {
      await expect(world.decide(who, callElsewhere)).rejects.toEqual(
        refusalWith('host_not_allowed', { connection: 'work', host: 'evil.example' }),
      );
    }
    await changeConnection({ allowedHosts: [] });
    await expect(world.decide(ann, raw)).rejects.toEqual(refusalWith('host_not_allowed'));
  });

  test('is refused when it names a missing connection, or any connection although the service has one', async () => {
    await connect([['account']]);

    const unknown = httpCallOf({ connection: 'nobodys' });
    await expect(world.decide(bot, unknown)).rejects.toEqual(
      refusalWith('credential_missing', { connection: 'nobodys' }),
    );
    const callWithBoth = httpCallOf({ service: 'github', target: '/zen', connection: 'work' });
    await expect(world.decide(bot, callWithBoth)).rejects.toEqual(refusalWith('invalid_params'));
    const secrets = [{ name: 'github_token', in: 'header' as const, key: 'authorization' }];
    world.neighbours.secrets.push({
      reference: 'github_token',
      orgId: ann.orgId,
      id: newId(),
      allowedHosts: [host],
    });
    await world.settle();
    const samePlace = httpCallOf({ connection: 'work', secrets });
    await expect(world.decide(bot, samePlace)).rejects.toEqual(refusalWith('invalid_params'));
  });
});

describe('the replay of an approved call with a connection', () => {
  const replay = (gap: Gap) =>
    world.approvals.permitReplay(
      {
        gap: world.signGap(gap),
        decision: world.decision(gap, ann),
        executionId: newId(),
        cascade: null,
      },
      testDeadline(),
    );
  const gapOf = async (call: Call) => world.gapIn(await world.decide(bot, call));

  test.for([
    ['an action', createIssue],
    ['a call by method and path', httpCallOf({ service: 'github', target: '/zen' })],
    ['a call to a full URL', raw],
  ] as const)('is permitted for %s with the approved connection', async ([, call]) => {
    await connect([['account']]);
    const gap = await gapOf(call);

    expect(await replay(gap)).toMatchObject({ outcome: 'permit' });
    await changeConnection({ status: 'needs_reauth' });
    await expect(replay(gap)).rejects.toEqual(
      refusalWith('reauth_required', { connection_id: connection.id }),
    );
    await changeConnection({ status: 'active', allowedHosts: ['elsewhere.example'] });
    await expect(replay(gap)).rejects.toEqual(
      refusalWith('approval_stale', { changed: 'credential' }),
    );
    await changeConnection({ allowedHosts: [host], id: newId() });
    await expect(replay(gap)).rejects.toEqual(
      refusalWith('approval_stale', { changed: 'credential' }),
    );
    world.neighbours.connections.length = 0;
    await world.settle();
    await expect(replay(gap)).rejects.toEqual(refusalWith('credential_missing'));
  });

  test('is refused when the connection has lost a needed OAuth scope', async () => {
    await connect([['account']]);
    const gap = await gapOf(createIssue);
    await changeConnection({ grantedScopes: ['read:org'] });

    await expect(replay(gap)).rejects.toEqual(
      refusalWith('missing_scopes', { missing: ['repo'], connection_id: connection.id }),
    );
  });

  test('is refused when the service has a different connection at the replay', async () => {
    const service = await connect([['account']]);
    const gap = await gapOf(createIssue);
    world.neighbours.connections.push({ ...connection, id: newId(), reference: 'private' });
    service.connection = 'private';
    await world.settle();

    await expect(replay(gap)).rejects.toEqual(
      refusalWith('approval_stale', { changed: 'credential' }),
    );
  });
});
