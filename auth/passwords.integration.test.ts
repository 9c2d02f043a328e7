import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { loadConfig } from '#config';
import { authConfig } from './config.ts';
import { startAuth } from './start.ts';
import { context, createAuthWorld, soon } from './world.testing.ts';
import type { AuthWorld, Person } from './world.testing.ts';

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
  typed: string,
  {
    org,
    ip = '127.0.0.1',
    deviceToken = null,
  }: { org?: string; ip?: string; deviceToken?: string | null } = {},
) =>
  world.client.signInWithPassword(
    {
      body: { email, password: typed, ...(org ? { org } : {}) },
      userAgent: 'test',
      deviceToken,
      context: { ...context, ip },
    },
    soon(),
  );
const codeOf = (work: Promise<unknown>) => work.then(() => 'done').catch(({ code }) => code);

/** Somebody who signed in by an invitation: a principal that may choose a password. */
async function invited(by = admin) {
  const email = `${randomUUID()}@example.com`;
  const body = { email, role: 'member' } as const;
  const { url, user } = await world.client.inviteUser(
    { principal: by.principal, body, context },
    soon(),
  );
  const session = await byLink(url);
  return { email, id: user.id, ...session };
}

async function byLink(url: string) {
  const { sessionToken } = await world.client.signIn(
    { token: tokenIn(url), userAgent: null, deviceToken: null, context },
    soon(),
  );
  return asSession(sessionToken);
}

async function asSession(token: string) {
  const { principal } = await world.client.authenticate({ kind: 'session', token }, soon());
  return { token, principal };
}

const setPassword = (
  principal: string,
  fields: { password?: string; current?: string | null; email?: string | null } = {},
) =>
  world.client.setPassword(
    { principal, context, email: null, current: null, password, ...fields },
    soon(),
  );

/** Attempts are forgotten by the clock, which no test waits for. */
const forgetAttempts = () => world.db`delete from auth.sign_in_attempt`;

describe('a password', () => {
  test('is chosen after an invitation, and signs in whatever the case of the address', async () => {
    const ann = await invited();
    await setPassword(ann.principal);

    const { sessionToken } = await signIn(` ${ann.email.toUpperCase()} `, password);

    const { claims } = await world.client.authenticate(
      { kind: 'session', token: sessionToken },
      soon(),
    );
    expect(claims).toMatchObject({ identityId: ann.id, role: 'member' });
  });

  test('is stored as argon2id only, and appears in no event', async () => {
    const ann = await invited();
    await setPassword(ann.principal);
    await codeOf(signIn(ann.email, 'CANARY-something-else'));

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
  ])('that is too %s is not taken', async ([, typed = '']) => {
    const ann = await invited();
    await expect(setPassword(ann.principal, { password: typed })).rejects.toMatchObject({
      code: 'invalid_params',
    });
    // The link can still be used for a better one.
    await setPassword(ann.principal);
  });

  test('that is wrong, of nobody, or not chosen yet is refused in the same words', async () => {
    const ann = await invited();
    const bob = await invited();
    await setPassword(ann.principal);
    const errors = await Promise.all(
      [ann.email, bob.email, 'nobody@example.com', 'x', "' or 1=1 --"].map((email) =>
        signIn(email, 'CANARY-wrong-password').catch(({ code, message }) => ({ code, message })),
      ),
    );

    expect(new Set(errors.map((error) => JSON.stringify(error))).size).toBe(1);
    expect(errors[0]).toMatchObject({ code: 'unauthenticated' });
  });

  test('leaves an audit record when it was wrong, for accounts that exist', async () => {
    const ann = await invited();
    await setPassword(ann.principal);
    await codeOf(signIn(ann.email, 'CANARY-wrong-password'));

    await expect
      .poll(
        () => world.db`
          select 1 from auth.outbox
           where type = 'sign_in.failed' and body like ${`%${ann.id}%`} and body like '%127.0.0.1%'
        `,
      )
      .toHaveLength(1);
  });

  test('is changed with the current one, which ends every other session', async () => {
    const ann = await invited();
    await setPassword(ann.principal);
    const [first, second] = [
      await asSession((await signIn(ann.email, password)).sessionToken),
      await asSession((await signIn(ann.email, password)).sessionToken),
    ];
    const next = 'CANARY-another-phrase';

    for (const current of [null, 'CANARY-wrong-password']) {
      await expect(setPassword(first.principal, { current, password: next })).rejects.toMatchObject(
        { code: 'forbidden' },
      );
    }
    await setPassword(first.principal, { current: password, password: next });

    expect(
      await codeOf(world.client.authenticate({ kind: 'session', token: first.token }, soon())),
    ).toBe('done');
    for (const { token } of [second, ann]) {
      await expect
        .poll(() => codeOf(world.client.authenticate({ kind: 'session', token }, soon())))
        .toBe('unauthenticated');
    }
    expect(await codeOf(signIn(ann.email, password))).toBe('unauthenticated');
    expect(await codeOf(signIn(ann.email, next))).toBe('done');
  });

  test('is set once by a link, of twenty at once, and not an hour later', async () => {
    const ann = await invited();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        codeOf(setPassword(ann.principal, { password: `${password}-${i}` })),
      ),
    );
    expect(outcomes.filter((code) => code === 'done')).toHaveLength(1);
    // The losers were late, or found that they had to know the current password.
    for (const code of outcomes)
      expect(['done', 'conflict', 'forbidden', 'rate_limited']).toContain(code);

    const bob = await invited();
    await world.db`update auth.session set created_at = now() - interval '61 minutes'
                    where identity_id = ${bob.id}`;
    expect(await codeOf(setPassword(bob.principal))).toBe('forbidden');
  });

  test('of the first admin comes with an e-mail address, which nobody else may have', async () => {
    const ann = await invited();
    const first = await byLink(world.running.firstSignInUrl ?? '');
    const email = `first-${randomUUID()}@example.com`;

    expect(await world.client.describePassword({ principal: first.principal }, soon())).toEqual({
      possible: true,
      email: null,
      needsCurrent: false,
    });
    expect(await codeOf(setPassword(first.principal))).toBe('invalid_params');
    await setPassword(first.principal, { email });
    expect(await codeOf(signIn(email, password))).toBe('done');

    const other = await world.user({ name: 'other', role: 'member', orgId: admin.orgId });
    expect(await codeOf(setPassword(other.principal, { email: ann.email.toUpperCase() }))).toBe(
      'conflict',
    );
  });

  test('cannot be set with an agent key', async () => {
    const bot = await world.agent(admin, `bot-${randomUUID().slice(0, 8)}`);
    expect(await codeOf(setPassword(bot.principal, { email: 'bot@example.com' }))).toBe(
      'forbidden',
    );
  });
});

describe('many attempts', () => {
  test('on one account are slowed down, known or not, with and without the right password', async () => {
    await forgetAttempts();
    const ann = await invited();
    await setPassword(ann.principal);
    const nobody = `nobody-${randomUUID()}@example.com`;
    for (const email of [ann.email, nobody]) {
      for (let attempt = 0; attempt < 5; attempt += 1) {
        expect(await codeOf(signIn(email, 'CANARY-wrong-password'))).toBe('unauthenticated');
      }
    }
    const waits = await world.db`
      select extract(epoch from next_at - last_at)::integer as seconds
        from auth.sign_in_attempt
       where next_at > last_at
    `;
    expect(waits.map(({ seconds }) => seconds)).toEqual([5, 5]);
    await world.db`update auth.sign_in_attempt set next_at = now() + interval '1 minute'`;
    for (const [email, typed] of [
      [ann.email, password],
      [ann.email, 'CANARY-wrong-password'],
      [nobody, password],
    ] as const) {
      await expect(signIn(email, typed)).rejects.toMatchObject({
        code: 'rate_limited',
        details: { retry_after: expect.any(Number) },
      });
    }

    // Never longer than a minute, however many.
    await world.db`update auth.sign_in_attempt set attempts = 1000, next_at = now()`;
    expect(await codeOf(signIn(ann.email, 'CANARY-wrong-password'))).toBe('unauthenticated');
    const [row] = await world.db`
      select max(next_at) < now() + interval '61 seconds' as is_bounded from auth.sign_in_attempt
    `;
    expect(row).toEqual({ is_bounded: true });
    await world.db`update auth.sign_in_attempt set next_at = now()`;
    expect(await codeOf(signIn(ann.email, password))).toBe('done');
    expect(await codeOf(signIn(ann.email, 'CANARY-wrong-password'))).toBe('unauthenticated');
  });

  test('do not tell by the name of an org whether there is such an account', async () => {
    await forgetAttempts();
    const ann = await invited();
    await setPassword(ann.principal);
    const codesOf = async (email: string) => {
      const codes: string[] = [];
      for (let attempt = 0; attempt < 6; attempt += 1) {
        codes.push(await codeOf(signIn(email, 'CANARY-wrong-password')));
      }
      const other = signIn(email, 'CANARY-wrong-password', { org: 'no-such-org' });
      codes.push(await codeOf(other));
      return codes;
    };

    expect(await codesOf(ann.email)).toEqual(await codesOf(`nobody-${randomUUID()}@example.com`));
  });

  test('at once, over two replicas, come through five at most', async () => {
    await world.startReplica();
    await forgetAttempts();
    const ann = await invited();
    await setPassword(ann.principal);
    const codes = await Promise.all(
      Array.from({ length: 30 }, () => codeOf(signIn(ann.email, 'CANARY-wrong-password'))),
    );
    expect(codes.filter((code) => code === 'unauthenticated')).toHaveLength(5);
    expect(codes.filter((code) => code === 'rate_limited')).toHaveLength(25);
  });

  test('with the right password at once open a session each, or are told to wait', async () => {
    await forgetAttempts();
    const ann = await invited();
    await setPassword(ann.principal);
    const codes = await Promise.all(
      Array.from({ length: 10 }, () => codeOf(signIn(ann.email, password))),
    );
    expect(codes).toContain('done');
    for (const code of codes) expect(['done', 'rate_limited']).toContain(code);
  });
});

describe('a stranger who guesses', () => {
  const guess = (email: string, visit: Parameters<typeof signIn>[2]) =>
    codeOf(signIn(email, 'CANARY-wrong-password', visit));

  test('from many addresses does not keep the user out, who is elsewhere', async () => {
    await forgetAttempts();
    const ann = await invited();
    await setPassword(ann.principal);
    for (let address = 1; address <= 8; address += 1) {
      const codes = await Promise.all(
        Array.from({ length: 8 }, () => guess(ann.email, { ip: `198.51.100.${address}` })),
      );
      expect(codes).toContain('rate_limited');
    }
    expect(await codeOf(signIn(ann.email, password, { ip: '203.0.113.5' }))).toBe('done');
  });

  test('from one /64 of IPv6 has one count, and from one /48 one more', async () => {
    await forgetAttempts();
    const ann = await invited();
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
    const elsewhere = { ip: '2001:db8:2::1' };
    expect(await codeOf(signIn(ann.email, password, elsewhere))).toBe('done');
  });

  test('from the same address does not stop a browser that signed in before', async () => {
    await forgetAttempts();
    const ann = await invited();
    const bob = await invited();
    await setPassword(ann.principal);
    await setPassword(bob.principal);
    const { device } = await signIn(ann.email, password);
    const other = await signIn(bob.email, password);
    for (let n = 0; n < 6; n += 1) await guess(ann.email, {});
    expect(await codeOf(signIn(ann.email, password))).toBe('rate_limited');

    // The browser of another user, or a cookie that was never given out, is a stranger's.
    for (const deviceToken of [other.device.token, 'A'.repeat(43), 'x', '']) {
      expect(await codeOf(signIn(ann.email, password, { deviceToken }))).toBe('rate_limited');
    }
    const again = await signIn(ann.email, password, { deviceToken: device.token });
    expect(again.device.token).toBe(device.token);
    const days = (Date.parse(again.device.expiresAt) - Date.now()) / 86_400_000;
    expect(Math.round(days)).toBe(90);
  });

  test('with a stolen cookie of the browser has a count of its own, until the password changes', async () => {
    await forgetAttempts();
    const ann = await invited();
    await setPassword(ann.principal);
    const opened = await signIn(ann.email, password);
    const visit = { deviceToken: opened.device.token, ip: '198.51.100.9' };
    const codes = await Promise.all(Array.from({ length: 12 }, () => guess(ann.email, visit)));
    expect(codes.filter((code) => code === 'unauthenticated')).toHaveLength(5);

    await forgetAttempts();
    const session = await asSession(opened.sessionToken);
    const next = 'CANARY-another-horse';
    await setPassword(session.principal, { current: password, password: next });
    const changed = await signIn(ann.email, next, visit);
    expect(changed.device.token).not.toBe(opened.device.token);
  });
});

describe('an e-mail address', () => {
  test('of two orgs needs the name of the org', async () => {
    await forgetAttempts();
    const other = await world.user({ name: 'root2', role: 'admin' });
    const email = `both-${randomUUID()}@example.com`;
    const body = { email, role: 'member' } as const;
    const ids: string[] = [];
    for (const [index, by] of [admin, other].entries()) {
      const request = { principal: by.principal, body, context };
      const { url, user } = await world.client.inviteUser(request, soon());
      const session = await byLink(url);
      await setPassword(session.principal, { password: `${password}-${index}` });
      ids.push(user.id);
    }

    expect(await codeOf(signIn(email, `${password}-0`))).toBe('unauthenticated');
    for (const [index, by] of [admin, other].entries()) {
      const { sessionToken } = await signIn(email, `${password}-${index}`, {
        org: `org-${by.orgId}`,
      });
      const { claims } = await world.client.authenticate(
        { kind: 'session', token: sessionToken },
        soon(),
      );
      expect(claims.identityId).toBe(ids[index]);
    }
    expect(await codeOf(signIn(email, `${password}-0`, { org: `org-${other.orgId}` }))).toBe(
      'unauthenticated',
    );
  });
});

describe('a start', () => {
  test('prints a link until an admin has a password, and then only when told to', async () => {
    await using own = await createAuthWorld();
    const { sessionToken } = await own.client.signIn(
      {
        token: tokenIn(own.running.firstSignInUrl ?? ''),
        userAgent: null,
        deviceToken: null,
        context,
      },
      soon(),
    );
    const again = await own.startReplica();
    expect(again.firstSignInUrl).toMatch(/sil_/);
    const { principal } = await own.client.authenticate(
      { kind: 'session', token: sessionToken },
      soon(),
    );
    const fields = { email: 'admin@example.com', current: null, password };
    await own.client.setPassword({ principal, context, ...fields }, soon());

    expect((await own.startReplica()).firstSignInUrl).toBeNull();
    const config = loadConfig(authConfig, {
      ...own.environment.variables,
      SIGN_IN_LINK: 'always',
    });
    await using told = await startAuth(config);
    expect(told.firstSignInUrl).toMatch(/sil_/);
  });
});

describe('somebody who may not come in any more', () => {
  test.for([
    ['archived', 'identity_archived'],
    ['revoked', 'forbidden'],
  ])('being %s is told so, and only with the right password', async ([status = '', code = '']) => {
    await forgetAttempts();
    const ann = await invited();
    await setPassword(ann.principal);
    await world.db`update auth.identity set status = ${status} where id = ${ann.id}`;

    expect(await codeOf(signIn(ann.email, password))).toBe(code);
    expect(await codeOf(signIn(ann.email, 'CANARY-wrong-password'))).toBe('unauthenticated');
  });
});
