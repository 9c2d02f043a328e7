import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { loadConfig } from '#config';
import { authConfig } from '../config.ts';
import { startAuth } from '../start.ts';
import { context, createAuthWorld, testDeadline } from '../world.testing.ts';
import type { AuthWorld, Person } from '../world.testing.ts';

const password = 'CANARY-correct-horse';
const tokenIn = (url: string) => new URL(url).searchParams.get('token') ?? '';

let world: AuthWorld;
let admin: Person;
beforeAll(async () => {
  world = await createAuthWorld();
  admin = await world.user({ name: 'root', role: 'admin' });
});
beforeEach(async () => {
  admin = await world.renew(admin);
});
afterAll(() => world[Symbol.asyncDispose]());

const signIn = (
  email: string,
  typedPassword: string,
  {
    org,
    ip = '127.0.0.1',
    deviceToken = null,
  }: { org?: string; ip?: string; deviceToken?: string | null } = {},
) =>
  world.client.signInWithPassword(
    {
      body: { email, password: typedPassword, ...(org ? { org } : {}) },
      userAgent: 'test',
      deviceToken,
      context: { ...context, ip },
    },
    testDeadline(),
  );
const outcomeCodeOf = (work: Promise<unknown>) => work.then(() => 'done').catch(({ code }) => code);

/** Returns a user who signed in with an invitation and may set a password. */
async function createInvitedUser(by = admin) {
  const email = `${randomUUID()}@example.com`;
  const body = { email, role: 'member' } as const;
  const { url, user } = await world.client.inviteUser(
    { principal: by.principal, body, context },
    testDeadline(),
  );
  const session = await signInByLink(url);
  return { email, id: user.id, ...session };
}

async function signInByLink(url: string) {
  const { sessionToken } = await world.client.signIn(
    { token: tokenIn(url), userAgent: null, deviceToken: null, context },
    testDeadline(),
  );
  return authenticateSession(sessionToken);
}

async function authenticateSession(token: string) {
  const { principal } = await world.client.authenticate({ kind: 'session', token }, testDeadline());
  return { token, principal };
}

const setPassword = (
  principal: string,
  fields: { password?: string; current?: string | null; email?: string | null } = {},
) =>
  world.client.setPassword(
    { principal, context, email: null, current: null, password, ...fields },
    testDeadline(),
  );

/** Deletes the counters of attempts, so that a test need not wait an hour until they restart. */
const forgetAttempts = () => world.db`delete from auth.sign_in_attempt`;

describe('a password', () => {
  test('is set after an invitation, and works with the e-mail address in upper or lower case', async () => {
    const ann = await createInvitedUser();
    await setPassword(ann.principal);

    const { sessionToken } = await signIn(` ${ann.email.toUpperCase()} `, password);

    const { claims } = await world.client.authenticate(
      { kind: 'session', token: sessionToken },
      testDeadline(),
    );
    expect(claims).toMatchObject({ identityId: ann.id, role: 'member' });
  });

  test('is stored only as an argon2id hash, and appears in no event', async () => {
    const ann = await createInvitedUser();
    await setPassword(ann.principal);
    await outcomeCodeOf(signIn(ann.email, 'CANARY-something-else'));

    const rows = await world.db`
      select a.*::text as row from auth.local_account a
      union all select o.*::text from auth.outbox o
      union all select encode(t.account, 'escape') from auth.sign_in_attempt t
    `;
    expect(JSON.stringify(rows)).not.toContain('CANARY');
    const [{ hash } = { hash: '' }] = await world.db`
      select password_hash as hash from auth.local_account where identity_id = ${ann.id}
    `;
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  });

  test.for([
    ['short', 'CANARY-11ch'],
    ['long', `CANARY-${'x'.repeat(194)}`],
    ['simple', 'aaaaaaaaaaaaaaaa'],
  ])('is refused when it is too %s', async ([, typedPassword = '']) => {
    const ann = await createInvitedUser();
    await expect(setPassword(ann.principal, { password: typedPassword })).rejects.toMatchObject({
      code: 'invalid_params',
    });
    // The session may still set a valid password after a refused one.
    await setPassword(ann.principal);
  });

  test('is refused with the same words if it is wrong, was never set, or is for an unknown account', async () => {
    const ann = await createInvitedUser();
    const bob = await createInvitedUser();
    await setPassword(ann.principal);
    const errors = await Promise.all(
      [ann.email, bob.email, 'nobody@example.com', 'x', "' or 1=1 --"].map((email) =>
        signIn(email, 'CANARY-wrong-password').catch(({ code, message }) => ({ code, message })),
      ),
    );

    expect(new Set(errors.map((error) => JSON.stringify(error))).size).toBe(1);
    expect(errors[0]).toMatchObject({ code: 'unauthenticated' });
  });

  test('leaves an audit record if it is wrong for an existing account', async () => {
    const ann = await createInvitedUser();
    await setPassword(ann.principal);
    await outcomeCodeOf(signIn(ann.email, 'CANARY-wrong-password'));

    await expect
      .poll(
        () => world.db`
          select 1 from auth.outbox
           where type = 'sign_in.failed' and body like ${`%${ann.id}%`} and body like '%127.0.0.1%'
        `,
      )
      .toHaveLength(1);
  });

  test('is changed by a request with the current password, which ends every other session', async () => {
    const ann = await createInvitedUser();
    await setPassword(ann.principal);
    const [first, second] = [
      await authenticateSession((await signIn(ann.email, password)).sessionToken),
      await authenticateSession((await signIn(ann.email, password)).sessionToken),
    ];
    const nextPassword = 'CANARY-another-phrase';

    for (const current of [null, 'CANARY-wrong-password']) {
      await expect(
        setPassword(first.principal, { current, password: nextPassword }),
      ).rejects.toMatchObject({ code: 'forbidden' });
    }
    await setPassword(first.principal, { current: password, password: nextPassword });

    expect(
      await outcomeCodeOf(
        world.client.authenticate({ kind: 'session', token: first.token }, testDeadline()),
      ),
    ).toBe('done');
    for (const { token } of [second, ann]) {
      await expect
        .poll(() =>
          outcomeCodeOf(world.client.authenticate({ kind: 'session', token }, testDeadline())),
        )
        .toBe('unauthenticated');
    }
    expect(await outcomeCodeOf(signIn(ann.email, password))).toBe('unauthenticated');
    expect(await outcomeCodeOf(signIn(ann.email, nextPassword))).toBe('done');
  });

  test('is set at most once per one-time link, even by parallel requests, and only within an hour after signing in', async () => {
    const ann = await createInvitedUser();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        outcomeCodeOf(setPassword(ann.principal, { password: `${password}-${i}` })),
      ),
    );
    expect(outcomes.filter((code) => code === 'done')).toHaveLength(1);
    // One request used the link. The other requests found a changed password, or lacked the current
    // password.
    for (const code of outcomes)
      expect(['done', 'conflict', 'forbidden', 'rate_limited']).toContain(code);

    const bob = await createInvitedUser();
    await world.db`update auth.session set created_at = now() - interval '61 minutes'
                    where identity_id = ${bob.id}`;
    expect(await outcomeCodeOf(setPassword(bob.principal))).toBe('forbidden');
  });

  test('can be set by the first admin only with an e-mail address that no other user has', async () => {
    const ann = await createInvitedUser();
    const first = await signInByLink(world.runningAuth.firstSignInUrl ?? '');
    const email = `first-${randomUUID()}@example.com`;

    expect(
      await world.client.describePassword({ principal: first.principal }, testDeadline()),
    ).toEqual({
      possible: true,
      email: null,
      needsCurrent: false,
    });
    expect(await outcomeCodeOf(setPassword(first.principal))).toBe('invalid_params');
    await setPassword(first.principal, { email });
    expect(await outcomeCodeOf(signIn(email, password))).toBe('done');

    const other = await world.user({ name: 'other', role: 'member', orgId: admin.orgId });
    expect(
      await outcomeCodeOf(setPassword(other.principal, { email: ann.email.toUpperCase() })),
    ).toBe('conflict');
  });

  test('cannot be set by a caller with an agent key', async () => {
    const bot = await world.agent(admin, `bot-${randomUUID().slice(0, 8)}`);
    expect(await outcomeCodeOf(setPassword(bot.principal, { email: 'bot@example.com' }))).toBe(
      'forbidden',
    );
  });
});

describe('repeated sign-in attempts', () => {
  test('must wait, whether or not the account exists and the password is right', async () => {
    await forgetAttempts();
    const ann = await createInvitedUser();
    await setPassword(ann.principal);
    const unknownEmail = `nobody-${randomUUID()}@example.com`;
    for (const email of [ann.email, unknownEmail]) {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        expect(await outcomeCodeOf(signIn(email, 'CANARY-wrong-password'))).toBe('unauthenticated');
      }
    }
    const waits = await world.db`
      select extract(epoch from next_at - last_at)::integer as seconds
        from auth.sign_in_attempt
       where next_at > last_at + interval '1 second'
    `;
    expect(waits.map(({ seconds }) => seconds)).toEqual([5, 5]);
    await world.db`update auth.sign_in_attempt set next_at = now() + interval '1 minute'`;
    for (const [email, typedPassword] of [
      [ann.email, password],
      [ann.email, 'CANARY-wrong-password'],
      [unknownEmail, password],
    ] as const) {
      await expect(signIn(email, typedPassword)).rejects.toMatchObject({
        code: 'rate_limited',
        details: { retry_after: expect.any(Number) },
      });
    }

    // The wait never exceeds a minute.
    await world.db`update auth.sign_in_attempt set attempts = 1000, next_at = now()`;
    expect(await outcomeCodeOf(signIn(ann.email, 'CANARY-wrong-password'))).toBe('unauthenticated');
    const [row] = await world.db`
      select max(next_at) < now() + interval '61 seconds' as is_bounded from auth.sign_in_attempt
    `;
    expect(row).toEqual({ is_bounded: true });
    await world.db`update auth.sign_in_attempt set next_at = now()`;
    expect(await outcomeCodeOf(signIn(ann.email, password))).toBe('done');
    expect(await outcomeCodeOf(signIn(ann.email, 'CANARY-wrong-password'))).toBe('unauthenticated');
  });

  test('do not reveal whether the account exists in an org that they name', async () => {
    await forgetAttempts();
    const ann = await createInvitedUser();
    await setPassword(ann.principal);
    const codesOf = async (email: string) => {
      const codes: string[] = [];
      for (let attempt = 0; attempt < 6; attempt += 1) {
        codes.push(await outcomeCodeOf(signIn(email, 'CANARY-wrong-password')));
      }
      const other = signIn(email, 'CANARY-wrong-password', { org: 'no-such-org' });
      codes.push(await outcomeCodeOf(other));
      return codes;
    };

    expect(await codesOf(ann.email)).toEqual(await codesOf(`nobody-${randomUUID()}@example.com`));
  });

  test('are limited to five in total when two replicas receive them in parallel', async () => {
    await world.startReplica();
    await forgetAttempts();
    const ann = await createInvitedUser();
    await setPassword(ann.principal);
    const codes = await Promise.all(
      Array.from({ length: 30 }, () => outcomeCodeOf(signIn(ann.email, 'CANARY-wrong-password'))),
    );
    expect(codes.filter((code) => code === 'unauthenticated')).toHaveLength(5);
    expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(25);
  });

  test('each open a session or must wait when they are parallel and have the right password', async () => {
    await forgetAttempts();
    const ann = await createInvitedUser();
    await setPassword(ann.principal);
    const codes = await Promise.all(
      Array.from({ length: 10 }, () => outcomeCodeOf(signIn(ann.email, password))),
    );
    expect(codes).toContain('done');
    for (const code of codes) expect(['done', 'rate_limited']).toContain(code);
  });
});

describe("a stranger who guesses a user's password", () => {
  const guess = (email: string, options: Parameters<typeof signIn>[2]) =>
    outcomeCodeOf(signIn(email, 'CANARY-wrong-password', options));

  test('does not lock out, by guessing from many addresses, the user at another address', async () => {
    await forgetAttempts();
    const ann = await createInvitedUser();
    await setPassword(ann.principal);
    for (let address = 1; address <= 8; address += 1) {
      const codes = await Promise.all(
        Array.from({ length: 8 }, () => guess(ann.email, { ip: `198.51.100.${address}` })),
      );
      expect(codes).toContain('rate_limited');
    }
    expect(await outcomeCodeOf(signIn(ann.email, password, { ip: '203.0.113.5' }))).toBe('done');
  });

  test('is limited per /64 network of IPv6, and also per /48 network', async () => {
    await forgetAttempts();
    const ann = await createInvitedUser();
    await setPassword(ann.principal);
    const codes: string[] = [];
    for (let n = 0; n < 10; n += 1) {
      codes.push(await guess(ann.email, { ip: `2001:db8:1:2:${n.toString(16)}::1` }));
    }
    expect(codes.filter((code) => code === 'unauthenticated')).toHaveLength(5);
    for (let n = 0; n < 30; n += 1) {
      codes.push(await guess(ann.email, { ip: `2001:db8:1:${(n + 16).toString(16)}::1` }));
    }
    expect(codes.filter((code) => code === 'unauthenticated')).toHaveLength(20);
    const otherNetwork = { ip: '2001:db8:2::1' };
    expect(await outcomeCodeOf(signIn(ann.email, password, otherNetwork))).toBe('done');
  });

  test("does not lock out, by guessing from the user's own address, a browser in which the user signed in before", async () => {
    await forgetAttempts();
    const ann = await createInvitedUser();
    const bob = await createInvitedUser();
    await setPassword(ann.principal);
    await setPassword(bob.principal);
    const { device } = await signIn(ann.email, password);
    const other = await signIn(bob.email, password);
    for (let n = 0; n < 6; n += 1) await guess(ann.email, {});
    expect(await outcomeCodeOf(signIn(ann.email, password))).toBe('rate_limited');

    // The cookie of another user's browser and a forged cookie are treated like no cookie.
    for (const deviceToken of [other.device.token, 'A'.repeat(43), 'x', '']) {
      expect(await outcomeCodeOf(signIn(ann.email, password, { deviceToken }))).toBe(
        'rate_limited',
      );
    }
    const secondSignIn = await signIn(ann.email, password, { deviceToken: device.token });
    expect(secondSignIn.device.token).toBe(device.token);
    const days = (Date.parse(secondSignIn.device.expiresAt) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
  });

  test('is limited separately from other strangers with a stolen browser cookie, until the password changes', async () => {
    await forgetAttempts();
    const ann = await createInvitedUser();
    await setPassword(ann.principal);
    const openedSession = await signIn(ann.email, password);
    const deviceFields = { deviceToken: openedSession.device.token, ip: '198.51.100.9' };
    const codes = await Promise.all(
      Array.from({ length: 12 }, () => guess(ann.email, deviceFields)),
    );
    expect(codes.filter((code) => code === 'unauthenticated')).toHaveLength(5);

    await forgetAttempts();
    const session = await authenticateSession(openedSession.sessionToken);
    const nextPassword = 'CANARY-another-horse';
    await setPassword(session.principal, { current: password, password: nextPassword });
    const changed = await signIn(ann.email, nextPassword, deviceFields);
    expect(changed.device.token).not.toBe(openedSession.device.token);
  });
});

describe('an e-mail address that users of two orgs have', () => {
  test('requires the name of the org to sign in', async () => {
    await forgetAttempts();
    const other = await world.user({ name: 'root2', role: 'admin' });
    const email = `both-${randomUUID()}@example.com`;
    const body = { email, role: 'member' } as const;
    const ids: string[] = [];
    for (const [index, by] of [admin, other].entries()) {
      const request = { principal: by.principal, body, context };
      const { url, user } = await world.client.inviteUser(request, testDeadline());
      const session = await signInByLink(url);
      await setPassword(session.principal, { password: `${password}-${index}` });
      ids.push(user.id);
    }

    expect(await outcomeCodeOf(signIn(email, `${password}-0`))).toBe('unauthenticated');
    for (const [index, by] of [admin, other].entries()) {
      const { sessionToken } = await signIn(email, `${password}-${index}`, {
        org: `org-${by.orgId}`,
      });
      const { claims } = await world.client.authenticate(
        { kind: 'session', token: sessionToken },
        testDeadline(),
      );
      expect(claims.identityId).toBe(ids[index]);
    }
    expect(await outcomeCodeOf(signIn(email, `${password}-0`, { org: `org-${other.orgId}` }))).toBe(
      'unauthenticated',
    );
  });
});

describe('starting auth', () => {
  test('prints a sign-in link until an admin has a password, and later only if SIGN_IN_LINK is always', async () => {
    await using ownWorld = await createAuthWorld();
    const { sessionToken } = await ownWorld.client.signIn(
      {
        token: tokenIn(ownWorld.runningAuth.firstSignInUrl ?? ''),
        userAgent: null,
        deviceToken: null,
        context,
      },
      testDeadline(),
    );
    const secondSignIn = await ownWorld.startReplica();
    expect(secondSignIn.firstSignInUrl).toMatch(/sil_/);
    const { principal } = await ownWorld.client.authenticate(
      { kind: 'session', token: sessionToken },
      testDeadline(),
    );
    const fields = { email: 'admin@example.com', current: null, password };
    await ownWorld.client.setPassword({ principal, context, ...fields }, testDeadline());

    expect((await ownWorld.startReplica()).firstSignInUrl).toBeNull();
    const config = loadConfig(authConfig, {
      ...ownWorld.environment.variables,
      SIGN_IN_LINK: 'always',
    });
    await using restarted = await startAuth(config);
    expect(restarted.firstSignInUrl).toMatch(/sil_/);
  });
});

describe('a user who may no longer sign in', () => {
  test.for([
    ['archived', 'identity_archived'],
    ['revoked', 'forbidden'],
  ])(
    'is told that the account is %s, but only after entering the right password',
    async ([status = '', code = '']) => {
      await forgetAttempts();
      const ann = await createInvitedUser();
      await setPassword(ann.principal);
      await world.db`update auth.identity set status = ${status} where id = ${ann.id}`;

      expect(await outcomeCodeOf(signIn(ann.email, password))).toBe(code);
      expect(await outcomeCodeOf(signIn(ann.email, 'CANARY-wrong-password'))).toBe(
        'unauthenticated',
      );
    },
  );
});
