import { randomBytes, randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { SignInProviderBody } from '#contracts/http/sign-in';
import { startOpenidProvider, visit } from './openid-provider.testing.ts';
import type { Account, OpenidProvider } from './openid-provider.testing.ts';
import { sealSecret, sealingKeyOf } from './domain/sealing.ts';
import { context, createAuthWorld, soon } from './world.testing.ts';
import type { AuthWorld, Person } from './world.testing.ts';

const baseUrl = 'https://gateway.example';
const callbackOf = (key: string) => `${baseUrl}/sign-in/callback/${key}`;
const codeOf = (work: Promise<unknown>) => work.then(() => 'done').catch(({ code }) => code);

let world: AuthWorld;
let work: OpenidProvider;
let other: OpenidProvider;
/** Of the only org that the sign-in page finds without a name. */
let admin: Person;

beforeAll(async () => {
  const callbacks = ['work', 'other', 'fixed'].map(callbackOf);
  [work, other] = await Promise.all([
    startOpenidProvider(callbacks),
    startOpenidProvider(callbacks),
  ]);
  world = await createAuthWorld({
    BASE_URL: baseUrl,
    EGRESS_ALLOW: `${work.host},${other.host}`,
    SIGN_IN_PROVIDERS: JSON.stringify([
      {
        key: 'fixed',
        name: 'Fixed',
        issuer: other.issuer,
        client_id: other.clientId,
        client_secret: other.clientSecret,
        allowed_groups: ['staff'],
        scopes: ['openid', 'email', 'groups'],
      },
    ]),
  });
  const [org] = await world.db<{ id: string }[]>`select id from auth.org`;
  admin = await world.user({ name: 'root', role: 'admin', orgId: org?.id ?? '' });
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await work[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});
beforeEach(async () => {
  admin = await world.renew(admin);
  await put('work', work);
  await put('other', other);
});

function put(key: string, provider: OpenidProvider, more: Partial<SignInProviderBody> = {}) {
  const body: SignInProviderBody = {
    name: key,
    issuer: provider.issuer,
    client_id: provider.clientId,
    client_secret: provider.clientSecret,
    scopes: ['openid', 'email', 'groups'],
    allowed_email_domains: ['acme.example'],
    allowed_groups: [],
    ...more,
  };
  return world.client.putSignInProvider({ principal: admin.principal, key, body, context }, soon());
}

const start = (key = 'work', returnTo: string | null = null) =>
  world.client.startProviderSignIn({ org: null, key, returnTo, browserToken: null }, soon());
const finish = (key: string, callback: URL, browserToken: string | null) =>
  world.client.finishProviderSignIn(
    {
      key,
      query: callback.search.slice(1),
      browserToken,
      userAgent: 'test',
      deviceToken: null,
      context,
    },
    soon(),
  );
const ann = (more: Partial<Account> = {}): Account => ({
  sub: randomUUID(),
  email: `ann-${randomUUID()}@acme.example`,
  email_verified: true,
  ...more,
});

/** The whole way of one person through one provider. */
async function signIn(account: Account | null, key = 'work', provider = work) {
  provider.account = account;
  const { url, browserToken } = await start(key, '/approvals');
  const callback = await visit(url, callbackOf(key));
  const opened = await finish(key, callback, browserToken);
  const { claims } = await world.client.authenticate(
    { kind: 'session', token: opened.sessionToken },
    soon(),
  );
  return { ...opened, claims, callback, browserToken };
}

describe('signing in at a provider', () => {
  test('makes a member of who is new, and finds who is known, by issuer and subject', async () => {
    const account = ann();

    const first = await signIn(account);
    const second = await signIn({ ...account, email: 'renamed@acme.example' });

    expect(first.returnTo).toBe('/approvals');
    expect(first.claims).toMatchObject({ kind: 'user', role: 'member', orgId: admin.orgId });
    expect(first.claims.chain[0]?.name).toMatch(/^ann-/);
    expect(second.claims.identityId).toBe(first.claims.identityId);
    const [user] = await world.db`
      select email from auth.identity where id = ${first.claims.identityId}
    `;
    expect(user).toEqual({ email: account.email });
    const events = await world.db`
      select type, body from auth.outbox where body like ${`%${first.claims.identityId}%`}
    `;
    expect(events.map(({ type }) => type)).toEqual([
      'identity.created',
      'session.created',
      'session.created',
    ]);
    expect(events[1]?.['body']).toContain('signed in with work');
  });

  test('asks with PKCE, state and nonce, and keeps none of them', async () => {
    const { url, browserToken } = await start();
    const { searchParams } = new URL(url);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      redirect_uri: callbackOf('work'),
      scope: 'openid email groups',
    });
    const rows = await world.db`select f.*::text as row from auth.sign_in_flow f`;
    for (const secret of [searchParams.get('state'), searchParams.get('nonce'), browserToken]) {
      expect(JSON.stringify(rows)).not.toContain(secret);
    }
  });

  test('by twenty at once for the first time makes one user', async () => {
    const account = ann();
    work.account = account;
    const flows = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { url, browserToken } = await start();
        return { callback: await visit(url, callbackOf('work')), browserToken };
      }),
    );
    await Promise.all(
      flows.map(({ callback, browserToken }) => finish('work', callback, browserToken)),
    );

    const users = await world.db`select id from auth.identity where email = ${account.email ?? ''}`;
    expect(users).toHaveLength(1);
  });

  test('tells people of the same subject at two providers apart', async () => {
    const account = ann();
    const [at, elsewhere] = [await signIn(account), await signIn(account, 'other', other)];

    expect(at.claims.identityId).not.toBe(elsewhere.claims.identityId);
    expect(at.claims.chain[0]?.name).not.toBe(elsewhere.claims.chain[0]?.name);
  });

  test('never becomes a user with the same e-mail address, invited or not', async () => {
    const email = `owner-${randomUUID()}@acme.example`;
    const body = { email, role: 'admin' } as const;
    const invited = await world.client.inviteUser(
      { principal: admin.principal, body, context },
      soon(),
    );

    const { claims } = await signIn(ann({ email }));

    expect(claims.identityId).not.toBe(invited.user.id);
    expect(claims.role).toBe('member');
  });
});

describe('an answer of a provider', () => {
  test.for<[what: string, change: (callback: URL) => void, code: string]>([
    ['another state', ({ searchParams }) => searchParams.set('state', 'x'.repeat(43)), 'expired'],
    ['no state', ({ searchParams }) => searchParams.delete('state'), 'expired'],
    ['two states', ({ searchParams }) => searchParams.append('state', 'x'), 'unauthenticated'],
    [
      'another issuer',
      ({ searchParams }) => searchParams.set('iss', 'https://evil.example'),
      'unauthenticated',
    ],
    ['no issuer', ({ searchParams }) => searchParams.delete('iss'), 'unauthenticated'],
    ['another code', ({ searchParams }) => searchParams.set('code', 'made-up'), 'unauthenticated'],
    ['no code', ({ searchParams }) => searchParams.delete('code'), 'unauthenticated'],
  ])('with %s is refused', async ([, change, code]) => {
    work.account = ann();
    const { url, browserToken } = await start();
    const callback = await visit(url, callbackOf('work'));
    change(callback);

    expect(await codeOf(finish('work', callback, browserToken))).toBe(code);
  });

  test.for([
    ['nonce', 'x'.repeat(43)],
    ['code_challenge', 'x'.repeat(43)],
  ])('for another %s is refused', async ([parameter = '', value = '']) => {
    work.account = ann();
    const { url, browserToken } = await start();
    const changed = new URL(url);
    changed.searchParams.set(parameter, value);
    const callback = await visit(changed.href, callbackOf('work'));

    expect(await codeOf(finish('work', callback, browserToken))).toBe('unauthenticated');
  });

  test('in a browser that did not begin is refused, and the right one goes on', async () => {
    work.account = ann();
    const { url, browserToken } = await start();
    const { browserToken: foreign } = await start();
    const callback = await visit(url, callbackOf('work'));

    for (const token of [null, foreign, 'x', `${browserToken}x`]) {
      expect(await codeOf(finish('work', callback, token))).toBe('expired');
    }
    expect(await codeOf(finish('work', callback, browserToken))).toBe('done');
  });

  test('counts once, of twenty at once', async () => {
    const { callback, browserToken } = await signIn(ann());
    expect(await codeOf(finish('work', callback, browserToken))).toBe('expired');

    const flow = await start();
    const again = await visit(flow.url, callbackOf('work'));
    const asked = work.tokenRequests.count;
    const codes = await Promise.all(
      Array.from({ length: 20 }, () => codeOf(finish('work', again, flow.browserToken))),
    );
    expect(codes.filter((code) => code === 'done')).toHaveLength(1);
    expect(work.tokenRequests.count).toBe(asked + 1);
  });

  test('at the callback of another provider is refused, and no code is sent there', async () => {
    work.account = ann();
    const { url, browserToken } = await start('work');
    const callback = await visit(url, callbackOf('work'));
    const asked = other.tokenRequests.count;

    expect(await codeOf(finish('other', callback, browserToken))).toBe('expired');
    expect(other.tokenRequests.count).toBe(asked);
  });

  test('that is late is refused', async () => {
    work.account = ann();
    const { url, browserToken } = await start();
    const callback = await visit(url, callbackOf('work'));
    await world.db`update auth.sign_in_flow set expires_at = now()`;

    expect(await codeOf(finish('work', callback, browserToken))).toBe('expired');
  });

  test('that somebody cancelled says so, and where they wanted to go', async () => {
    work.account = null;
    const { url, browserToken } = await start('work', '/approvals');
    const callback = await visit(url, callbackOf('work'));

    await expect(finish('work', callback, browserToken)).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('cancelled'),
      details: { return_to: '/approvals' },
    });
  });
});

describe('admission', () => {
  test.for<[who: string, account: Account, rules: Partial<SignInProviderBody>]>([
    ['an address nobody verified', ann({ email_verified: false }), {}],
    ['another domain', ann({ email: 'a@evil.example' }), {}],
    ['no address', { sub: randomUUID() }, {}],
    ['none of the groups', ann({ groups: ['guests'] }), { allowed_groups: ['staff'] }],
    ['a provider without rules', ann(), { allowed_email_domains: [] }],
  ])('refuses %s, kindly, and makes no user', async ([, account, rules]) => {
    await put('work', work, rules);
    const users = () => world.db`select count(*)::integer as n from auth.identity`;
    const before = [...(await users())];

    await expect(signIn(account)).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringMatching(/\. Ask an admin of the gateway\.$/),
      details: { return_to: '/approvals' },
    });
    expect([...(await users())]).toEqual(before);
  });

  test('by group needs no address, and ends when the group is left', async () => {
    await put('work', work, { allowed_email_domains: [], allowed_groups: ['staff'] });
    const account = { sub: randomUUID(), groups: ['guests', 'staff'] };
    const { claims } = await signIn(account);
    expect(claims.chain[0]?.name).toMatch(/^user/);

    expect(await codeOf(signIn({ ...account, groups: ['guests'] }))).toBe('forbidden');
    expect((await signIn(account)).claims.identityId).toBe(claims.identityId);
  });

  test('does not bring back who was revoked', async () => {
    const account = ann();
    const { claims } = await signIn(account);
    await world.client.revokeIdentity(
      { principal: admin.principal, id: claims.identityId, context },
      soon(),
    );

    await expect(signIn(account)).rejects.toMatchObject({
      code: 'forbidden',
      message: 'Your access has ended; ask an admin.',
    });
  });
});

describe('a provider', () => {
  const get = (by: Person, key = 'work') =>
    world.client.getSignInProvider({ principal: by.principal, key }, soon());

  test('shows everything but its client secret, which is sealed at rest', async () => {
    expect(await get(admin)).toEqual({
      key: 'work',
      name: 'work',
      issuer: work.issuer,
      client_id: 'gateway',
      scopes: ['openid', 'email', 'groups'],
      allowed_email_domains: ['acme.example'],
      allowed_groups: [],
      has_client_secret: true,
      source: 'org',
      redirect_uri: callbackOf('work'),
    });
    const rows = await world.db<{ row: string; secret: Buffer }[]>`
      select p.*::text as row, p.client_secret as secret from auth.sign_in_provider p
    `;
    expect(JSON.stringify(rows)).not.toContain('CANARY');
    for (const { secret } of rows) expect(secret.toString('latin1')).not.toContain('CANARY');
  });

  test('whose issuer is changed in the database does not get the secret', async () => {
    work.account = ann();
    const asked = other.tokenRequests.count;
    await world.db`update auth.sign_in_provider set issuer = ${other.issuer} where key = 'work'`;

    expect(await codeOf(start('work'))).toBe('conflict');
    expect(other.tokenRequests.count).toBe(asked);
  });

  test('with the secret of another provider or org, or anything else, is refused', async () => {
    const [another] = await world.db<{ secret: Buffer }[]>`
      select client_secret as secret from auth.sign_in_provider where key = 'other'
    `;
    const sealed = (binding: object) =>
      sealSecret(sealingKeyOf(world.environment.variables['SIGN_IN_KEY'] ?? ''), 'CANARY-moved', {
        binding: { orgId: admin.orgId, key: 'work', issuer: work.issuer, ...binding },
        random: randomBytes,
      });
    const ofOthers = [another!.secret, sealed({ orgId: randomUUID() }), sealed({ key: 'twin' })];
    for (const secret of [...ofOthers, randomBytes(60), Buffer.alloc(0)]) {
      await world.db`
        update auth.sign_in_provider
           set client_secret = ${secret}
         where key = 'work'
      `;
      expect(await codeOf(start('work'))).toBe('conflict');
    }
    await world.db`
      update auth.sign_in_provider set client_secret = ${sealed({})} where key = 'work'
    `;
    expect(await codeOf(start('work'))).toBe('done');
  });

  test('of the environment works like others, and is not changed here', async () => {
    expect(await get(admin, 'fixed')).toMatchObject({ source: 'environment' });
    const { claims } = await signIn(ann({ groups: ['staff'] }), 'fixed', other);
    expect(claims.role).toBe('member');

    expect(await codeOf(put('fixed', work))).toBe('conflict');
    const request = { principal: admin.principal, key: 'fixed', context };
    expect(await codeOf(world.client.deleteSignInProvider(request, soon()))).toBe('conflict');
  });

  test('is offered by key and name, and no more once it is removed', async () => {
    const options = () => world.client.listSignInOptions({ org: null }, soon());
    expect(await options()).toEqual({
      needsOrg: false,
      providers: [
        { key: 'fixed', name: 'Fixed' },
        { key: 'other', name: 'other' },
        { key: 'work', name: 'work' },
      ],
    });
    const account = ann();
    await signIn(account);
    const request = { principal: admin.principal, key: 'work', context };
    await world.client.deleteSignInProvider(request, soon());

    expect((await options()).providers.map(({ key }) => key)).toEqual(['fixed', 'other']);
    expect(await codeOf(start('work'))).toBe('not_found');
    expect(await codeOf(world.client.deleteSignInProvider(request, soon()))).toBe('not_found');
  });

  test.for<[what: string, fields: Partial<SignInProviderBody>]>([
    ['is not there', { issuer: 'http://127.0.0.1:1' }],
    ['may not be reached', { issuer: 'https://169.254.169.254' }],
    ['is inside', { issuer: 'https://192.168.1.1' }],
    ['names itself otherwise', { issuer: 'placeholder' }],
  ])('whose issuer %s is not set up', async ([, fields]) => {
    const issuer = fields.issuer === 'placeholder' ? `${work.issuer}/tenant` : fields.issuer;
    await expect(
      put('new', work, { ...fields, ...(issuer ? { issuer } : {}) }),
    ).rejects.toMatchObject({ code: 'invalid_params' });
    expect(await codeOf(get(admin, 'new'))).toBe('not_found');
  });

  test('is for admins to change, and for auditors to see, in their own org', async () => {
    const { orgId } = admin;
    const member = await world.user({ name: `m-${randomUUID()}`, role: 'member', orgId });
    const auditor = await world.user({ name: `a-${randomUUID()}`, role: 'auditor', orgId });
    expect(await codeOf(get(member))).toBe('forbidden');
    expect(await codeOf(get(auditor))).toBe('done');
    for (const { principal } of [member, auditor]) {
      const request = { principal, key: 'work', context };
      expect(await codeOf(world.client.deleteSignInProvider(request, soon()))).toBe('forbidden');
    }
  });
});

describe('in a deployment of several orgs', () => {
  test('the sign-in page asks for the org, and tells nothing of one that is not there', async () => {
    await using several = await createAuthWorld({ BASE_URL: baseUrl });
    const eve = await several.user({ name: 'eve', role: 'admin' });
    const ask = (org: string | null) => several.client.listSignInOptions({ org }, soon());

    expect(await ask(null)).toEqual({ needsOrg: true, providers: [] });
    expect(await ask(`org-${eve.orgId}`)).toEqual({ needsOrg: false, providers: [] });
    expect(await ask('nothing')).toEqual({ needsOrg: false, providers: [] });
  });
});

describe('a provider that is down', () => {
  test('is said to be, each time', async () => {
    const down = await startOpenidProvider([callbackOf('down')]);
    await using own = await createAuthWorld({ BASE_URL: baseUrl, EGRESS_ALLOW: down.host });
    const [org] = await own.db<{ id: string }[]>`select id from auth.org`;
    const root = await own.user({ name: 'root', role: 'admin', orgId: org?.id ?? '' });
    const body = {
      name: 'down',
      issuer: down.issuer,
      client_id: down.clientId,
      scopes: [],
      allowed_email_domains: [],
      allowed_groups: [],
    };
    await own.client.putSignInProvider(
      { principal: root.principal, key: 'down', body, context },
      soon(),
    );
    await down[Symbol.asyncDispose]();
    // Another replica has not read its metadata yet.
    await own.running[Symbol.asyncDispose]();
    await own.startReplica();

    const begin = () =>
      own.client.startProviderSignIn(
        { org: null, key: 'down', returnTo: null, browserToken: null },
        soon(),
      );
    await expect(begin()).rejects.toMatchObject({ code: 'upstream_unreachable' });
    await expect(begin()).rejects.toMatchObject({ code: 'upstream_unreachable' });
  });
});
