import { randomBytes, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { SignInProviderBody } from '#contracts/http/sign-in';
import { openEgress, parseEgressAllow } from '#egress';
import { createOpenidProviders } from './openid.ts';
import { startOpenidProvider, followRedirects } from './openid-provider.testing.ts';
import type { Account, OpenidProvider } from './openid-provider.testing.ts';
import { sealSecret, sealingKeyOf } from './domain/sealing.ts';
import { context, createAuthWorld, testDeadline } from '../world.testing.ts';
import type { AuthWorld, Person } from '../world.testing.ts';

const baseUrl = 'https://gateway.example';
const callbackUrlOf = (key: string) => `${baseUrl}/sign-in/callback/${key}`;
const outcomeCodeOf = (work: Promise<unknown>) => work.then(() => 'done').catch(({ code }) => code);

let world: AuthWorld;
let work: OpenidProvider;
let other: OpenidProvider;
/** An admin of the first org, which the sign-in page uses when no org is named. */
let admin: Person;

beforeAll(async () => {
  const callbackUrls = ['work', 'other', 'fixed'].map(callbackUrlOf);
  [work, other] = await Promise.all([
    startOpenidProvider(callbackUrls),
    startOpenidProvider(callbackUrls),
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
  await putProvider('work', work);
  await putProvider('other', other);
});

function putProvider(
  key: string,
  provider: OpenidProvider,
  more: Partial<SignInProviderBody> = {},
) {
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
  return world.client.putSignInProvider(
    { principal: admin.principal, key, body, context },
    testDeadline(),
  );
}

const startSignIn = (key = 'work', returnTo: string | null = null) =>
  world.client.startProviderSignIn(
    { org: null, key, returnTo, browserToken: null },
    testDeadline(),
  );
const finishSignIn = (key: string, callback: URL, browserToken: string | null) =>
  world.client.finishProviderSignIn(
    {
      key,
      query: callback.search.slice(1),
      browserToken,
      userAgent: 'test',
      deviceToken: null,
      context,
    },
    testDeadline(),
  );
const createAnnsAccount = (more: Partial<Account> = {}): Account => ({
  sub: randomUUID(),
  email: `ann-${randomUUID()}@acme.example`,
  email_verified: true,
  ...more,
});

/** Signs one person in through one provider. */
async function signIn(account: Account | null, key = 'work', provider = work) {
  provider.account = account;
  const { url, browserToken } = await startSignIn(key, '/approvals');
  const callback = await followRedirects(url, callbackUrlOf(key));
  const openedSession = await finishSignIn(key, callback, browserToken);
  const { claims } = await world.client.authenticate(
    { kind: 'session', token: openedSession.sessionToken },
    testDeadline(),
  );
  return { ...openedSession, claims, callback, browserToken };
}

describe('signing in at a sign-in provider', () => {
  test('creates a member for a new subject, and signs in the existing user of a known subject', async () => {
    const account = createAnnsAccount();

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
       order by id
    `;
    expect(events.map(({ type }) => type)).toEqual([
      'identity.created',
      'session.created',
      'session.created',
    ]);
    expect(events[1]?.['body']).toContain('signed in with work');
  });

  test('sends PKCE, state and nonce, and stores none of them', async () => {
    const { url, browserToken } = await startSignIn();
    const { searchParams } = new URL(url);
    expect(Object.fromEntries(searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      redirect_uri: callbackUrlOf('work'),
      scope: 'openid email groups',
    });
    const rows = await world.db`select f.*::text as row from auth.sign_in_flow f`;
    for (const secret of [searchParams.get('state'), searchParams.get('nonce'), browserToken]) {
      expect(JSON.stringify(rows)).not.toContain(secret);
    }
  });

  test('creates only one user when twenty sign-ins with the same new subject run at once', async () => {
    const account = createAnnsAccount();
    work.account = account;
    const flows = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const { url, browserToken } = await startSignIn();
        return { callback: await followRedirects(url, callbackUrlOf('work')), browserToken };
      }),
    );
    await Promise.all(
      flows.map(({ callback, browserToken }) => finishSignIn('work', callback, browserToken)),
    );

    const users = await world.db`select id from auth.identity where email = ${account.email ?? ''}`;
    expect(users).toHaveLength(1);
  });

  test('creates two users for the same subject at two providers', async () => {
    const account = createAnnsAccount();
    const [at, elsewhere] = [await signIn(account), await signIn(account, 'other', other)];

    expect(at.claims.identityId).not.toBe(elsewhere.claims.identityId);
    expect(at.claims.chain[0]?.name).not.toBe(elsewhere.claims.chain[0]?.name);
  });

  test('never signs in an existing user only because the e-mail address is the same', async () => {
    const email = `owner-${randomUUID()}@acme.example`;
    const body = { email, role: 'admin' } as const;
    const invitedUser = await world.client.inviteUser(
      { principal: admin.principal, body, context },
      testDeadline(),
    );

    const { claims } = await signIn(createAnnsAccount({ email }));

    expect(claims.identityId).not.toBe(invitedUser.user.id);
    expect(claims.role).toBe('member');
  });
});

describe('the response of a sign-in provider', () => {
  test.for<[what: string, change: (callback: URL) => void, code: string]>([
    ['a changed state', ({ searchParams }) => searchParams.set('state', 'x'.repeat(43)), 'expired'],
    ['no state', ({ searchParams }) => searchParams.delete('state'), 'expired'],
    ['two states', ({ searchParams }) => searchParams.append('state', 'x'), 'unauthenticated'],
    [
      'the issuer of another server',
      ({ searchParams }) => searchParams.set('iss', 'https://evil.example'),
      'unauthenticated',
    ],
    ['no issuer', ({ searchParams }) => searchParams.delete('iss'), 'unauthenticated'],
    [
      'an unknown code',
      ({ searchParams }) => searchParams.set('code', 'made-up'),
      'unauthenticated',
    ],
    ['no code', ({ searchParams }) => searchParams.delete('code'), 'unauthenticated'],
  ])('is refused with %s', async ([, change, code]) => {
    work.account = createAnnsAccount();
    const { url, browserToken } = await startSignIn();
    const callback = await followRedirects(url, callbackUrlOf('work'));
    change(callback);

    expect(await outcomeCodeOf(finishSignIn('work', callback, browserToken))).toBe(code);
  });

  test.for([
    ['nonce', 'x'.repeat(43)],
    ['code_challenge', 'x'.repeat(43)],
  ])('is refused for a sign-in with another %s', async ([parameter = '', value = '']) => {
    work.account = createAnnsAccount();
    const { url, browserToken } = await startSignIn();
    const changed = new URL(url);
    changed.searchParams.set(parameter, value);
    const callback = await followRedirects(changed.href, callbackUrlOf('work'));

    expect(await outcomeCodeOf(finishSignIn('work', callback, browserToken))).toBe(
      'unauthenticated',
    );
  });

  test('is refused in a browser that did not start the sign-in, and is afterwards still accepted in the browser that did', async () => {
    work.account = createAnnsAccount();
    const { url, browserToken } = await startSignIn();
    const { browserToken: foreign } = await startSignIn();
    const callback = await followRedirects(url, callbackUrlOf('work'));

    for (const token of [null, foreign, 'x', `${browserToken}x`]) {
      expect(await outcomeCodeOf(finishSignIn('work', callback, token))).toBe('expired');
    }
    expect(await outcomeCodeOf(finishSignIn('work', callback, browserToken))).toBe('done');
  });

  test('is accepted only once, even by twenty parallel requests', async () => {
    const { callback, browserToken } = await signIn(createAnnsAccount());
    expect(await outcomeCodeOf(finishSignIn('work', callback, browserToken))).toBe('expired');

    const flow = await startSignIn();
    const secondRedirects = await followRedirects(flow.url, callbackUrlOf('work'));
    const requestCount = work.tokenRequests.count;
    const codes = await Promise.all(
      Array.from({ length: 20 }, () =>
        outcomeCodeOf(finishSignIn('work', secondRedirects, flow.browserToken)),
      ),
    );
    expect(codes.filter((code) => code === 'done')).toHaveLength(1);
    expect(work.tokenRequests.count).toBe(requestCount + 1);
  });

  test('is refused at the callback of another provider, which receives no request', async () => {
    work.account = createAnnsAccount();
    const { url, browserToken } = await startSignIn('work');
    const callback = await followRedirects(url, callbackUrlOf('work'));
    const requestCount = other.tokenRequests.count;

    expect(await outcomeCodeOf(finishSignIn('other', callback, browserToken))).toBe('expired');
    expect(other.tokenRequests.count).toBe(requestCount);
  });

  test('is refused after the sign-in flow has expired', async () => {
    work.account = createAnnsAccount();
    const { url, browserToken } = await startSignIn();
    const callback = await followRedirects(url, callbackUrlOf('work'));
    await world.db`update auth.sign_in_flow set expires_at = now()`;

    expect(await outcomeCodeOf(finishSignIn('work', callback, browserToken))).toBe('expired');
  });

  test('leads to an error with the page to return to when the person has cancelled', async () => {
    work.account = null;
    const { url, browserToken } = await startSignIn('work', '/approvals');
    const callback = await followRedirects(url, callbackUrlOf('work'));

    await expect(finishSignIn('work', callback, browserToken)).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringContaining('cancelled'),
      details: { return_to: '/approvals' },
    });
  });
});

describe('admission through a sign-in provider', () => {
  test.for<[who: string, account: Account, rules: Partial<SignInProviderBody>]>([
    [
      'a person with an unverified e-mail address',
      createAnnsAccount({ email_verified: false }),
      {},
    ],
    [
      'a person with an e-mail address in another domain',
      createAnnsAccount({ email: 'a@evil.example' }),
      {},
    ],
    ['a person without an e-mail address', { sub: randomUUID() }, {}],
    [
      'a person in none of the allowed groups',
      createAnnsAccount({ groups: ['guests'] }),
      { allowed_groups: ['staff'] },
    ],
    [
      'a new person at a provider without admission rules',
      createAnnsAccount(),
      { allowed_email_domains: [] },
    ],
  ])('refuses %s with an explanation, and creates no user', async ([, account, rules]) => {
    await putProvider('work', work, rules);
    const users = () => world.db`select count(*)::integer as n from auth.identity`;
    const usersBefore = [...(await users())];

    await expect(signIn(account)).rejects.toMatchObject({
      code: 'forbidden',
      message: expect.stringMatching(/\. Ask an admin of the gateway\.$/),
      details: { return_to: '/approvals' },
    });
    expect([...(await users())]).toEqual(usersBefore);
  });

  test('requires no e-mail address if it is by group, and ends when the person leaves the group', async () => {
    await putProvider('work', work, { allowed_email_domains: [], allowed_groups: ['staff'] });
    const account = { sub: randomUUID(), groups: ['guests', 'staff'] };
    const { claims } = await signIn(account);
    expect(claims.chain[0]?.name).toMatch(/^user/);

    expect(await outcomeCodeOf(signIn({ ...account, groups: ['guests'] }))).toBe('forbidden');
    expect((await signIn(account)).claims.identityId).toBe(claims.identityId);
  });

  test('is refused to a revoked user', async () => {
    const account = createAnnsAccount();
    const { claims } = await signIn(account);
    await world.client.revokeIdentity(
      { principal: admin.principal, id: claims.identityId, context },
      testDeadline(),
    );

    await expect(signIn(account)).rejects.toMatchObject({
      code: 'forbidden',
      message: 'Your access has ended; ask an admin.',
    });
  });
});

describe('a sign-in provider', () => {
  const getProvider = (by: Person, key = 'work') =>
    world.client.getSignInProvider({ principal: by.principal, key }, testDeadline());

  test('is shown without its client secret, which is stored in encrypted form', async () => {
    expect(await getProvider(admin)).toEqual({
      key: 'work',
      name: 'work',
      issuer: work.issuer,
      client_id: 'gateway',
      scopes: ['openid', 'email', 'groups'],
      allowed_email_domains: ['acme.example'],
      allowed_groups: [],
      has_client_secret: true,
      source: 'org',
      redirect_uri: callbackUrlOf('work'),
    });
    const rows = await world.db<{ row: string; secret: Buffer }[]>`
      select p.*::text as row, p.client_secret as secret from auth.sign_in_provider p
    `;
    expect(JSON.stringify(rows)).not.toContain('CANARY');
    for (const { secret } of rows) expect(secret.toString('latin1')).not.toContain('CANARY');
  });

  test('does not receive its client secret when its issuer was manipulated in the database', async () => {
    work.account = createAnnsAccount();
    const requestCount = other.tokenRequests.count;
    await world.db`update auth.sign_in_provider set issuer = ${other.issuer} where key = 'work'`;

    expect(await outcomeCodeOf(startSignIn('work'))).toBe('conflict');
    expect(other.tokenRequests.count).toBe(requestCount);
  });

  test('is refused if its stored secret was copied from another provider or org', async () => {
    const [another] = await world.db<{ secret: Buffer }[]>`
      select client_secret as secret from auth.sign_in_provider where key = 'other'
    `;
    const sealFor = (binding: object) =>
      sealSecret(sealingKeyOf(world.environment.variables['SIGN_IN_KEY'] ?? ''), 'CANARY-moved', {
        binding: { orgId: admin.orgId, key: 'work', issuer: work.issuer, ...binding },
        random: randomBytes,
      });
    const foreignSecrets = [
      another!.secret,
      sealFor({ orgId: randomUUID() }),
      sealFor({ key: 'twin' }),
    ];
    for (const secret of [...foreignSecrets, randomBytes(60), Buffer.alloc(0)]) {
      await world.db`
        update auth.sign_in_provider
           set client_secret = ${secret}
         where key = 'work'
      `;
      expect(await outcomeCodeOf(startSignIn('work'))).toBe('conflict');
    }
    await world.db`
      update auth.sign_in_provider set client_secret = ${sealFor({})} where key = 'work'
    `;
    expect(await outcomeCodeOf(startSignIn('work'))).toBe('done');
  });

  test('works like other providers if the environment sets it, but admins cannot change it', async () => {
    expect(await getProvider(admin, 'fixed')).toMatchObject({ source: 'environment' });
    const { claims } = await signIn(createAnnsAccount({ groups: ['staff'] }), 'fixed', other);
    expect(claims.role).toBe('member');

    expect(await outcomeCodeOf(putProvider('fixed', work))).toBe('conflict');
    const request = { principal: admin.principal, key: 'fixed', context };
    expect(await outcomeCodeOf(world.client.deleteSignInProvider(request, testDeadline()))).toBe(
      'conflict',
    );
  });

  test('is offered with its key and name until it is deleted', async () => {
    const listDefaultOptions = () => world.client.listSignInOptions({ org: null }, testDeadline());
    expect(await listDefaultOptions()).toEqual({
      needsOrg: false,
      providers: [
        { key: 'fixed', name: 'Fixed' },
        { key: 'other', name: 'other' },
        { key: 'work', name: 'work' },
      ],
    });
    const account = createAnnsAccount();
    await signIn(account);
    const request = { principal: admin.principal, key: 'work', context };
    await world.client.deleteSignInProvider(request, testDeadline());

    expect((await listDefaultOptions()).providers.map(({ key }) => key)).toEqual([
      'fixed',
      'other',
    ]);
    expect(await outcomeCodeOf(startSignIn('work'))).toBe('not_found');
    expect(await outcomeCodeOf(world.client.deleteSignInProvider(request, testDeadline()))).toBe(
      'not_found',
    );
  });

  test.for<[what: string, fields: Partial<SignInProviderBody>]>([
    ['does not answer', { issuer: 'http://127.0.0.1:1' }],
    ['is a metadata address of a cloud', { issuer: 'https://169.254.169.254' }],
    ['is a private address', { issuer: 'https://192.168.1.1' }],
    ['differs from its metadata', { issuer: 'placeholder' }],
  ])('is refused when its issuer %s', async ([, fields]) => {
    const issuer = fields.issuer === 'placeholder' ? `${work.issuer}/tenant` : fields.issuer;
    await expect(
      putProvider('new', work, { ...fields, ...(issuer ? { issuer } : {}) }),
    ).rejects.toMatchObject({ code: 'invalid_params' });
    expect(await outcomeCodeOf(getProvider(admin, 'new'))).toBe('not_found');
  });

  test('is refused when its issuer lacks the final slash, and the error has the right issuer', async () => {
    const server = createServer((_request, reply) => {
      reply.setHeader('content-type', 'application/json');
      reply.end(JSON.stringify({ issuer: `${issuer}/` }));
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tenant`;
    await using egress = openEgress({ allow: parseEgressAllow('127.0.0.1/32') });
    const client = { issuer, clientId: 'gateway', clientSecret: null };
    await expect(createOpenidProviders(egress).discover(client)).rejects.toMatchObject({
      code: 'upstream_incomplete',
      message: expect.stringContaining(`calls itself ${issuer}/; give that`),
    });
    server.close();
  });

  test('can be changed only by admins, and read by auditors, of the same org', async () => {
    const { orgId } = admin;
    const member = await world.user({ name: `m-${randomUUID()}`, role: 'member', orgId });
    const auditor = await world.user({ name: `a-${randomUUID()}`, role: 'auditor', orgId });
    expect(await outcomeCodeOf(getProvider(member))).toBe('forbidden');
    expect(await outcomeCodeOf(getProvider(auditor))).toBe('done');
    for (const { principal } of [member, auditor]) {
      const request = { principal, key: 'work', context };
      expect(await outcomeCodeOf(world.client.deleteSignInProvider(request, testDeadline()))).toBe(
        'forbidden',
      );
    }
  });
});

describe('with several orgs in one deployment,', () => {
  test('the sign-in page asks for the org, and does not reveal whether an org exists', async () => {
    await using severalOrgsWorld = await createAuthWorld({ BASE_URL: baseUrl });
    const eve = await severalOrgsWorld.user({ name: 'eve', role: 'admin' });
    const listOptions = (org: string | null) =>
      severalOrgsWorld.client.listSignInOptions({ org }, testDeadline());

    expect(await listOptions(null)).toEqual({ needsOrg: true, providers: [] });
    expect(await listOptions(`org-${eve.orgId}`)).toEqual({ needsOrg: false, providers: [] });
    expect(await listOptions('nothing')).toEqual({ needsOrg: false, providers: [] });
  });
});

describe('a sign-in provider that does not answer', () => {
  test('is reported as unreachable at each attempt', async () => {
    const downProvider = await startOpenidProvider([callbackUrlOf('down')]);
    await using ownWorld = await createAuthWorld({
      BASE_URL: baseUrl,
      EGRESS_ALLOW: downProvider.host,
    });
    const [org] = await ownWorld.db<{ id: string }[]>`select id from auth.org`;
    const root = await ownWorld.user({ name: 'root', role: 'admin', orgId: org?.id ?? '' });
    const body = {
      name: 'down',
      issuer: downProvider.issuer,
      client_id: downProvider.clientId,
      scopes: [],
      allowed_email_domains: [],
      allowed_groups: [],
    };
    await ownWorld.client.putSignInProvider(
      { principal: root.principal, key: 'down', body, context },
      testDeadline(),
    );
    await downProvider[Symbol.asyncDispose]();
    // A new replica has not cached the provider's metadata yet.
    await ownWorld.runningAuth[Symbol.asyncDispose]();
    await ownWorld.startReplica();

    const beginSignIn = () =>
      ownWorld.client.startProviderSignIn(
        { org: null, key: 'down', returnTo: null, browserToken: null },
        testDeadline(),
      );
    await expect(beginSignIn()).rejects.toMatchObject({ code: 'upstream_unreachable' });
    await expect(beginSignIn()).rejects.toMatchObject({ code: 'upstream_unreachable' });
  });
});
