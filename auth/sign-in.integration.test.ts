import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import { describe, expect, test } from 'vitest';

import { createClient } from '#bus';
import { loadConfig } from '#config';
import { auth } from '#contracts/bus/auth';
import { createTestEnvironment } from '../test/support/environment.ts';
import { authConfig } from './config.ts';
import { hashOf } from './domain/checked-token.ts';
import { formatSessionToken } from './domain/dashboard-session.ts';
import { insertSession } from './repository/sessions.ts';
import { startAuth } from './start.ts';
import { context, createAuthWorld, soon } from './world.testing.ts';

const tokenIn = (url: string | null) => new URL(url ?? '').searchParams.get('token') ?? '';

describe('the first start', () => {
  test('makes an org and an admin, and a link that signs the admin in', async () => {
    await using world = await createAuthWorld();
    const { client, running } = world;
    expect(running.firstSignInUrl).toMatch(/^http:\/\/127\.0\.0\.1:0\/sign-in\?token=sil_/);

    const token = tokenIn(running.firstSignInUrl);
    const { sessionToken } = await client.signIn(
      { token, userAgent: null, deviceToken: null, context },
      soon(),
    );
    const { claims, principal } = await client.authenticate(
      { kind: 'session', token: sessionToken },
      soon(),
    );

    expect(claims).toMatchObject({ kind: 'user', role: 'admin', credential: { kind: 'session' } });
    expect(claims.scopes).toEqual(['actions:read', 'actions:call', 'approvals', 'agents', 'user']);
    const me = await client.getMe({ principal }, soon());
    expect(me).toMatchObject({ name: 'admin', org: { name: 'default' }, path: ['admin'] });
  });

  test('is repeated with a new link by every start, and the older one ends', async () => {
    await using world = await createAuthWorld();
    const { client, running, db } = world;
    const replica = await world.startReplica();
    const [first, second] = [running, replica].map((each) => tokenIn(each.firstSignInUrl));
    const signIn = (token: string) =>
      client.signIn({ token, userAgent: null, deviceToken: null, context }, soon());

    await expect(signIn(first ?? '')).rejects.toMatchObject({ code: 'expired' });
    await signIn(second ?? '');
    const later = await world.startReplica();

    await expect(signIn(second ?? '')).rejects.toMatchObject({ code: 'expired' });
    await signIn(tokenIn(later.firstSignInUrl));
    const [users] = await db`select count(*)::integer as n from auth.identity`;
    expect(users).toEqual({ n: 1 });
  });

  test('of five replicas at once makes one admin and leaves one working link', async () => {
    await using environment = await createTestEnvironment();
    const config = loadConfig(authConfig, environment.variables);
    const client = createClient(await environment.connect('gateway'), auth);
    await using replicas = new AsyncDisposableStack();
    const started = await Promise.all(Array.from({ length: 5 }, () => startAuth(config)));
    for (const each of started) replicas.use(each);

    const outcomes = await Promise.allSettled(
      started.map(({ firstSignInUrl }) =>
        client.signIn(
          { token: tokenIn(firstSignInUrl), userAgent: null, deviceToken: null, context },
          soon(),
        ),
      ),
    );

    const [signedIn, ...others] = outcomes.filter(({ status }) => status === 'fulfilled');
    expect(others).toEqual([]);
    const token = signedIn?.status === 'fulfilled' ? signedIn.value.sessionToken : '';
    const { principal } = await client.authenticate({ kind: 'session', token }, soon());
    const page = { limit: 50, cursor: null };
    const { items } = await client.listIdentities({ principal, page }, soon());
    expect(items.map(({ name }) => name)).toEqual(['admin']);
  });
});

describe('a sign-in link', () => {
  test('used by twenty at once opens one session', async () => {
    await using world = await createAuthWorld();
    const { client, running, db } = world;
    const token = tokenIn(running.firstSignInUrl);

    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () =>
        client.signIn({ token, userAgent: 'test', deviceToken: null, context }, soon()),
      ),
    );

    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused).toHaveLength(19);
    expect(new Set(refused.map(({ reason }) => reason.code))).toEqual(new Set(['expired']));
    const [sessions] = await db`select count(*)::integer as n from auth.session`;
    expect(sessions).toEqual({ n: 1 });
  });

  test('that is mistyped, too old or unknown is refused', async () => {
    await using world = await createAuthWorld();
    const { client, running, db } = world;
    const token = tokenIn(running.firstSignInUrl);
    const signIn = (given: string) =>
      client.signIn({ token: given, userAgent: null, deviceToken: null, context }, soon());

    await expect(signIn('nonsense')).rejects.toMatchObject({ code: 'expired' });
    await expect(signIn(`${token.slice(0, -1)}~`)).rejects.toMatchObject({ code: 'expired' });
    await db`update auth.sign_in_link set expires_at = now()`;
    await expect(signIn(token)).rejects.toMatchObject({ code: 'expired' });
  });
});

describe('a session', () => {
  test('ends with signing out', async () => {
    await using world = await createAuthWorld();
    const { client } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });

    await client.signOut({ principal: ann.principal, context }, soon());

    await expect(
      client.authenticate({ kind: 'session', token: ann.token }, soon()),
    ).rejects.toMatchObject({ code: 'unauthenticated' });
    await client.signOut({ principal: ann.principal, context }, soon());
  });

  test.for([
    ['unused for twelve hours', { last_used_at: new Date(Date.now() - 43_201_000) }],
    ['seven days old', { expires_at: new Date(Date.now() - 1_000) }],
    ['ended', { ended_at: new Date() }],
  ] as const)('that is %s is refused', async ([, change]) => {
    await using world = await createAuthWorld();
    const { client, db } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const token = formatSessionToken(randomBytes(32));
    const session = {
      id: uuidv7(),
      orgId: ann.orgId,
      identityId: ann.id,
      ip: null,
      userAgent: null,
    };
    await insertSession(db, { ...session, hash: hashOf(token) });

    await db`update auth.session set ${db(change)} where id = ${session.id}`;

    await expect(client.authenticate({ kind: 'session', token }, soon())).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  test('is no bearer, and a key is no session', async () => {
    await using world = await createAuthWorld();
    const { client } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');

    for (const [kind, token] of [
      ['bearer', ann.token],
      ['session', bot.token],
    ] as const) {
      await expect(client.authenticate({ kind, token }, soon())).rejects.toMatchObject({
        code: 'unauthenticated',
      });
    }
  });
});
