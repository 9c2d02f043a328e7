import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { createClient } from '#bus';
import { loadConfig } from '#config';
import { auth } from '#contracts/bus/auth';
import { createTestEnvironment } from '../../test/support/environment.ts';
import { authConfig } from '../config.ts';
import { hashToken } from '../credentials/domain/checked-token.ts';
import { formatSessionToken } from '../credentials/domain/session-token.ts';
import { insertSession } from '../sessions/sessions.sql.ts';
import { startAuth } from '../start.ts';
import { context, createAuthWorld, testDeadline } from '../world.testing.ts';
import type { AuthWorld } from '../world.testing.ts';

const tokenIn = (url: string | null) => new URL(url ?? '').searchParams.get('token') ?? '';

describe('the first start of auth', () => {
  test('creates an org, an admin, and a sign-in link for the admin', async () => {
    await using world = await createAuthWorld();
    const { client, runningAuth: running } = world;
    expect(running.firstSignInUrl).toMatch(/^http:\/\/127\.0\.0\.1:0\/sign-in\?token=sil_/);

    const token = tokenIn(running.firstSignInUrl);
    const { sessionToken } = await client.signIn(
      { token, userAgent: null, deviceToken: null, context },
      testDeadline(),
    );
    const { claims, principal } = await client.authenticate(
      { kind: 'session', token: sessionToken },
      testDeadline(),
    );

    expect(claims).toMatchObject({ kind: 'user', role: 'admin', credential: { kind: 'session' } });
    expect(claims.scopes).toEqual(['actions:read', 'actions:call', 'approvals', 'agents', 'user']);
    const me = await client.getMe({ principal }, testDeadline());
    expect(me).toMatchObject({ name: 'admin', org: { name: 'default' }, path: ['admin'] });
  });

  test('is followed by starts that each print a new sign-in link and end the older one', async () => {
    await using world = await createAuthWorld();
    const { client, runningAuth: running, db } = world;
    const replica = await world.startReplica();
    const [first, second] = [running, replica].map((each) => tokenIn(each.firstSignInUrl));
    const signIn = (token: string) =>
      client.signIn({ token, userAgent: null, deviceToken: null, context }, testDeadline());

    await expect(signIn(first ?? '')).rejects.toMatchObject({ code: 'expired' });
    await signIn(second ?? '');
    const laterReplica = await world.startReplica();

    await expect(signIn(second ?? '')).rejects.toMatchObject({ code: 'expired' });
    await signIn(tokenIn(laterReplica.firstSignInUrl));
    const [users] = await db`select count(*)::integer as n from auth.identity`;
    expect(users).toEqual({ n: 1 });
  });

  test('creates only one admin and one valid sign-in link when five replicas start at once', async () => {
    await using environment = await createTestEnvironment();
    const config = loadConfig(authConfig, environment.variables);
    const client = createClient(await environment.connect('gateway'), auth);
    await using replicas = new AsyncDisposableStack();
    const startedSignIns = await Promise.all(Array.from({ length: 5 }, () => startAuth(config)));
    for (const each of startedSignIns) replicas.use(each);

    const outcomes = await Promise.allSettled(
      startedSignIns.map(({ firstSignInUrl }) =>
        client.signIn(
          { token: tokenIn(firstSignInUrl), userAgent: null, deviceToken: null, context },
          testDeadline(),
        ),
      ),
    );

    const [signedIn, ...others] = outcomes.filter(({ status }) => status === 'fulfilled');
    expect(others).toEqual([]);
    const token = signedIn?.status === 'fulfilled' ? signedIn.value.sessionToken : '';
    const { principal } = await client.authenticate({ kind: 'session', token }, testDeadline());
    const page = { limit: 50, cursor: null };
    const { items } = await client.listIdentities({ principal, page }, testDeadline());
    expect(items.map(({ name }) => name)).toEqual(['admin']);
  });
});

describe('a sign-in link', () => {
  test('is not used up by checking whether it still works', async () => {
    await using world = await createAuthWorld();
    const { client, runningAuth, db } = world;
    const token = tokenIn(runningAuth.firstSignInUrl);
    const works = async (text: string) =>
      (await client.checkSignInLink({ token: text }, testDeadline())).works;

    expect([await works(token), await works(token)]).toEqual([true, true]);
    expect([await works('nonsense'), await works(`${token.slice(0, -1)}~`)]).toEqual([
      false,
      false,
    ]);
    await db`update auth.identity set status = 'archived'`;
    expect(await works(token)).toBe(false);
    await db`update auth.identity set status = 'active'`;
    const visit = { token, userAgent: null, deviceToken: null, context };
    await client.signIn(visit, testDeadline());
    expect(await works(token)).toBe(false);
  });

  test('opens only one session when twenty requests use it at once', async () => {
    await using world = await createAuthWorld();
    const { client, runningAuth: running, db } = world;
    const token = tokenIn(running.firstSignInUrl);

    const outcomes = await Promise.allSettled(
      Array.from({ length: 20 }, () =>
        client.signIn({ token, userAgent: 'test', deviceToken: null, context }, testDeadline()),
      ),
    );

    const refusedOutcomes = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refusedOutcomes).toHaveLength(19);
    expect(new Set(refusedOutcomes.map(({ reason }) => reason.code))).toEqual(new Set(['expired']));
    const [sessions] = await db`select count(*)::integer as n from auth.session`;
    expect(sessions).toEqual({ n: 1 });
  });

  test('is refused when it is mistyped, expired or unknown', async () => {
    await using world = await createAuthWorld();
    const { client, runningAuth: running, db } = world;
    const token = tokenIn(running.firstSignInUrl);
    const signIn = (token: string) =>
      client.signIn({ token: token, userAgent: null, deviceToken: null, context }, testDeadline());

    await expect(signIn('nonsense')).rejects.toMatchObject({ code: 'expired' });
    await expect(signIn(`${token.slice(0, -1)}~`)).rejects.toMatchObject({ code: 'expired' });
    await db`update auth.sign_in_link set expires_at = now()`;
    await expect(signIn(token)).rejects.toMatchObject({ code: 'expired' });
  });
});

describe('a session', () => {
  let world: AuthWorld;
  beforeAll(async () => {
    world = await createAuthWorld();
  });
  afterAll(() => world[Symbol.asyncDispose]());

  test('ends when the user signs out', async () => {
    const { client } = world;
    const ann = await world.user({ name: `ann-${uuidv7()}`, role: 'member' });

    await client.signOut({ principal: ann.principal, context }, testDeadline());

    await expect(
      client.authenticate({ kind: 'session', token: ann.token }, testDeadline()),
    ).rejects.toMatchObject({ code: 'unauthenticated' });
    await client.signOut({ principal: ann.principal, context }, testDeadline());
  });

  test.for([
    ['unused for twelve hours', { last_used_at: new Date(Date.now() - 43_201_000) }],
    ['seven days old', { expires_at: new Date(Date.now() - 1_000) }],
    ['over because the user signed out', { ended_at: new Date() }],
  ] as const)('is refused when it is %s', async ([, change]) => {
    const { client, db } = world;
    const ann = await world.user({ name: `ann-${uuidv7()}`, role: 'member' });
    const token = formatSessionToken(randomBytes(32));
    const session = {
      id: uuidv7(),
      orgId: ann.orgId,
      identityId: ann.id,
      ip: null,
      userAgent: null,
    };
    await insertSession(db, { ...session, hash: hashToken(token) });

    await db`update auth.session set ${db(change)} where id = ${session.id}`;

    await expect(
      client.authenticate({ kind: 'session', token }, testDeadline()),
    ).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  test('is not accepted as a bearer token, nor an agent key as a session token', async () => {
    const { client } = world;
    const ann = await world.user({ name: `ann-${uuidv7()}`, role: 'member' });
    const bot = await world.agent(ann, 'bot');

    for (const [kind, token] of [
      ['bearer', ann.token],
      ['session', bot.token],
    ] as const) {
      await expect(client.authenticate({ kind, token }, testDeadline())).rejects.toMatchObject({
        code: 'unauthenticated',
      });
    }
  });
});
