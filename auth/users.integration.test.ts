import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { onEvents } from '#events';
import type { Role } from '#contracts/vocabulary';
import { context, createAuthWorld, soon } from './world.testing.ts';
import type { AuthWorld, Person } from './world.testing.ts';

const page = { limit: 50, cursor: null };
const tokenIn = (url: string) => new URL(url).searchParams.get('token') ?? '';
const codeOf = (work: Promise<unknown>) => work.then(() => 'done').catch(({ code }) => code);

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

const newEmail = () => `u${randomUUID()}@example.com`;
const invite = (email = newEmail(), role: Role = 'member', by = admin) =>
  world.client.inviteUser({ principal: by.principal, body: { email, role }, context }, soon());
const open = (url: string) =>
  world.client.signIn({ token: tokenIn(url), userAgent: null, deviceToken: null, context }, soon());
const changeRole = (id: string, role: Role, by = admin) =>
  world.client.changeUser({ principal: by.principal, id, body: { role }, context }, soon());

describe('an invitation', () => {
  test('makes a user and a link that works once, of twenty at once', async () => {
    const email = newEmail();
    const { url, user, expires_at } = await invite(email, 'auditor');
    expect(user).toMatchObject({ kind: 'user', email, role: 'auditor', status: 'active' });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:0\/sign-in\?token=sil_/);
    const hours = (Date.parse(expires_at) - Date.now()) / 3_600_000;
    expect(Math.round(hours)).toBe(72);

    const outcomes = await Promise.all(Array.from({ length: 20 }, () => codeOf(open(url))));

    expect(outcomes.filter((code) => code === 'done')).toHaveLength(1);
    expect(outcomes.filter((code) => code === 'expired')).toHaveLength(19);
  });

  test('made again replaces the older one, for the same user', async () => {
    const email = newEmail();
    const first = await invite(email, 'member');
    const second = await invite(email.toUpperCase(), 'auditor');

    expect(second.user).toMatchObject({ id: first.user.id, role: 'auditor' });
    expect(await codeOf(open(first.url))).toBe('expired');
    expect(await codeOf(open(second.url))).toBe('done');
    await expect(invite(email)).rejects.toMatchObject({
      code: 'conflict',
      details: { user_id: first.user.id },
    });
  });

  test('of one address by twenty at once makes one user with one link', async () => {
    const email = newEmail();
    const made = await Promise.all(Array.from({ length: 20 }, () => invite(email)));

    expect(new Set(made.map(({ user }) => user.id)).size).toBe(1);
    const outcomes = await Promise.all(made.map(({ url }) => codeOf(open(url))));
    expect(outcomes.filter((code) => code === 'done')).toHaveLength(1);
  });

  test('that is too old, or of somebody revoked, opens nothing', async () => {
    const old = await invite();
    await world.db`update auth.sign_in_link set expires_at = now() where identity_id = ${old.user.id}`;
    expect(await codeOf(open(old.url))).toBe('expired');

    const email = newEmail();
    const gone = await invite(email);
    await world.client.revokeIdentity(
      { principal: admin.principal, id: gone.user.id, context },
      soon(),
    );
    expect(await codeOf(open(gone.url))).toBe('expired');
    // The address is free again, for another user.
    expect((await invite(email)).user.id).not.toBe(gone.user.id);
  });

  test('names users by their address, each by a name of its own', async () => {
    const local = `ann${randomUUID().slice(0, 8)}`;
    const made = [
      await invite(`${local}@a.example`),
      await invite(`${local}@b.example`),
      await invite(`${local.toUpperCase()}@c.example`),
    ];
    expect(made.map(({ user }) => user.name)).toEqual([local, `${local}-2`, `${local}-3`]);

    const body = { email: newEmail(), role: 'member', name: local } as const;
    await expect(
      world.client.inviteUser({ principal: admin.principal, body, context }, soon()),
    ).rejects.toMatchObject({ code: 'conflict' });
  });

  test('leaves its link in no row and no event', async () => {
    const { url } = await invite();
    const rows = await world.db`
      select l.*::text as row from auth.sign_in_link l union all select o.*::text from auth.outbox o
    `;
    expect(JSON.stringify(rows)).not.toContain(tokenIn(url));
  });
});

describe('a sign-in link that an admin makes', () => {
  test('resets a password: all sessions end once the new one is set, and older links at once', async () => {
    const { url, user } = await invite();
    const { sessionToken: old } = await open(url);
    const make = () =>
      world.client.createSignInLink({ principal: admin.principal, id: user.id, context }, soon());
    const [first, second] = [await make(), await make()];
    expect(await codeOf(open(first.url))).toBe('expired');
    const { sessionToken } = await open(second.url);
    const of = (token: string) => world.client.authenticate({ kind: 'session', token }, soon());
    expect(await codeOf(of(old))).toBe('done');

    const { principal } = await of(sessionToken);
    const fields = { email: null, current: null, password: 'CANARY-brand-new-one' };
    await world.client.setPassword({ principal, context, ...fields }, soon());

    await expect.poll(() => codeOf(of(old))).toBe('unauthenticated');
    expect(await codeOf(of(sessionToken))).toBe('done');
  });

  test('is for users of the org alone', async () => {
    const stranger = await world.user({ name: 'eve', role: 'admin' });
    const bot = await world.agent(admin, `bot-${randomUUID().slice(0, 8)}`);
    for (const id of [stranger.id, bot.id, randomUUID()]) {
      const request = { principal: admin.principal, id, context };
      await expect(world.client.createSignInLink(request, soon())).rejects.toMatchObject({
        code: 'not_found',
        message: 'There is no such user in your org.',
      });
    }
  });
});

describe('a role', () => {
  test('that is changed holds at once on every replica, and is announced', async () => {
    await world.startReplica();
    const ann = await world.user({
      name: `ann-${randomUUID()}`,
      role: 'admin',
      orgId: admin.orgId,
    });
    const bus = await world.environment.connect('approvals');
    const announced = Promise.withResolvers<unknown>();
    using _ = onEvents(bus, ['evt.auth.>'], (message) => {
      const body = message?.body as { type: string; data: unknown } | undefined;
      if (body?.type === 'identity.changed') announced.resolve(body.data);
    });
    await bus.nats.flush();
    const roleNow = async () => {
      const { claims } = await world.client.authenticate(
        { kind: 'session', token: ann.token },
        soon(),
      );
      return claims.role;
    };
    for (let replica = 0; replica < 6; replica += 1) expect(await roleNow()).toBe('admin');

    expect(await changeRole(ann.id, 'auditor')).toMatchObject({ role: 'auditor' });

    expect(await announced.promise).toMatchObject({
      identity_id: ann.id,
      changes: { role: { before: 'admin', after: 'auditor' } },
    });
    for (let replica = 0; replica < 6; replica += 1) {
      await expect.poll(roleNow).toBe('auditor');
    }
    expect(await codeOf(invite(newEmail(), 'member', { ...ann }))).toBe('done');
    const { principal } = await world.client.authenticate(
      { kind: 'session', token: ann.token },
      soon(),
    );
    expect(await codeOf(invite(newEmail(), 'member', { ...ann, principal }))).toBe('forbidden');
  });

  test('of the last admin stays, however many are changed at once', async () => {
    const first = await world.user({ name: 'first', role: 'admin' });
    const others = await Promise.all(
      ['second', 'third'].map((name) => world.user({ name, role: 'admin', orgId: first.orgId })),
    );
    const all = [first, ...others];

    const outcomes = await Promise.all(
      all.map(({ id }) => codeOf(changeRole(id, 'member', first))),
    );

    expect(outcomes.filter((code) => code === 'done')).toHaveLength(2);
    expect(outcomes).toContain('forbidden');
    const admins = await world.db`
      select id from auth.identity where org_id = ${first.orgId} and role = 'admin'
    `;
    expect(admins).toHaveLength(1);
  });

  test('is for admins to change, in their own org', async () => {
    const member = await world.user({
      name: `m-${randomUUID()}`,
      role: 'member',
      orgId: admin.orgId,
    });
    const auditor = await world.user({
      name: `a-${randomUUID()}`,
      role: 'auditor',
      orgId: admin.orgId,
    });
    const stranger = await world.user({ name: 'eve', role: 'admin' });
    const bot = await world.agent(admin, `bot-${randomUUID().slice(0, 8)}`);

    for (const by of [member, auditor, bot]) {
      expect(await codeOf(changeRole(member.id, 'admin', by))).toBe('forbidden');
      expect(await codeOf(invite(newEmail(), 'admin', by))).toBe('forbidden');
    }
    expect(await codeOf(changeRole(member.id, 'admin', stranger))).toBe('not_found');
    expect(await codeOf(changeRole(bot.id, 'admin'))).toBe('not_found');
    const list = (by: Person) => world.client.listUsers({ principal: by.principal, page }, soon());
    expect(await codeOf(list(member))).toBe('forbidden');
    expect((await list(auditor)).items.every(({ kind }) => kind === 'user')).toBe(true);
    expect((await list(stranger)).items.map(({ id }) => id)).toEqual([stranger.id]);
  });
});

describe('a user', () => {
  test('can be created without a link, and gets one later', async () => {
    const body = { email: newEmail(), role: 'member' } as const;
    const request = { principal: admin.principal, body, context };
    const user = await world.client.createUser(request, soon());
    expect(await codeOf(world.client.createUser(request, soon()))).toBe('conflict');

    const { url } = await world.client.createSignInLink(
      { principal: admin.principal, id: user.id, context },
      soon(),
    );
    expect(await codeOf(open(url))).toBe('done');
  });
});

describe('a session', () => {
  const sessionsOf = async ({ principal }: { principal: string }) =>
    (await world.client.listSessions({ principal, page }, soon())).items;
  const alive = (token: string) =>
    codeOf(world.client.authenticate({ kind: 'session', token }, soon()));

  test('is seen and ended by its own user alone', async () => {
    const { url, user } = await invite();
    const { sessionToken } = await open(url);
    const mine = await world.client.authenticate({ kind: 'session', token: sessionToken }, soon());
    const [session, ...others] = await sessionsOf(mine);
    expect(others).toEqual([]);
    expect(session).toMatchObject({ current: true, opened_by: 'link', ip: '127.0.0.1' });

    const bob = await world.user({
      name: `bob-${randomUUID()}`,
      role: 'member',
      orgId: admin.orgId,
    });
    for (const by of [bob, admin]) {
      const request = { principal: by.principal, id: session?.id ?? '', context };
      await expect(world.client.endSession(request, soon())).rejects.toMatchObject({
        code: 'not_found',
      });
      expect((await sessionsOf(by)).map(({ id }) => id)).not.toContain(session?.id);
    }
    expect(await alive(sessionToken)).toBe('done');
    const request = { principal: mine.principal, id: session?.id ?? '', context };
    await world.client.endSession(request, soon());
    await expect.poll(() => alive(sessionToken)).toBe('unauthenticated');
    expect(await codeOf(world.client.endSession(request, soon()))).toBe('not_found');
    const [event] = await world.db`
      select body from auth.outbox where type = 'session.ended' and body like ${`%${user.id}%`}
    `;
    expect(event?.['body']).toContain(session?.id);
  });

  test('that is ended is refused by every replica, and the one that asked goes on', async () => {
    await world.startReplica();
    const { user, url } = await invite();
    const tokens = [(await open(url)).sessionToken];
    for (let index = 0; index < 3; index += 1) {
      const link = await world.client.createSignInLink(
        { principal: admin.principal, id: user.id, context },
        soon(),
      );
      tokens.push((await open(link.url)).sessionToken);
    }
    const [first = '', ...others] = tokens;
    const { principal } = await world.client.authenticate(
      { kind: 'session', token: first },
      soon(),
    );

    await world.client.endOtherSessions({ principal, context }, soon());

    for (const token of others) {
      for (let replica = 0; replica < 4; replica += 1) {
        await expect.poll(() => alive(token)).toBe('unauthenticated');
      }
    }
    expect(await alive(first)).toBe('done');
    expect(await sessionsOf({ principal })).toHaveLength(1);
  });
});

describe('the org', () => {
  const get = (by: Person) => world.client.getOrg({ principal: by.principal }, soon());
  const change = (by: Person, body: Parameters<typeof world.client.changeOrg>[0]['body']) =>
    world.client.changeOrg({ principal: by.principal, body, context }, soon());

  test('has settings that an admin changes and others hear of', async () => {
    const own = await world.user({ name: 'own', role: 'admin' });
    const before = await get(own);
    expect(before).toMatchObject({ approval_ttl_seconds: 86_400, oauth_client_allow_list: null });

    const after = await change(own, {
      approval_ttl_seconds: 3_600,
      durable_read_audit: true,
      oauth_client_allow_list: ['Claude', 'cursor'],
    });

    expect(after).toEqual({
      ...before,
      approval_ttl_seconds: 3_600,
      durable_read_audit: true,
      oauth_client_allow_list: ['Claude', 'cursor'],
    });
    expect(await get(own)).toEqual(after);
    const seen = await world.approvals.getOrgSettings({ orgId: own.orgId }, soon());
    expect(seen).toMatchObject({ approvalTtlSeconds: 3_600, durableReadAudit: true });
    const [event] = await world.db`
      select body from auth.outbox where type = 'org.changed' and org_id = ${own.orgId}
    `;
    expect(JSON.parse(event?.['body'] ?? '')).toMatchObject({
      data: {
        changed: ['approval_ttl_seconds', 'durable_read_audit', 'oauth_client_allow_list'],
      },
    });
    expect((await change(own, { oauth_client_allow_list: [] })).oauth_client_allow_list).toBeNull();
  });

  test('is changed by admins, and read by auditors too', async () => {
    const auditor = await world.user({
      name: `x-${randomUUID()}`,
      role: 'auditor',
      orgId: admin.orgId,
    });
    const member = await world.user({
      name: `y-${randomUUID()}`,
      role: 'member',
      orgId: admin.orgId,
    });
    expect(await codeOf(get(auditor))).toBe('done');
    expect(await codeOf(get(member))).toBe('forbidden');
    for (const by of [auditor, member]) {
      expect(await codeOf(change(by, { auto_bubble_seconds: 0 }))).toBe('forbidden');
    }
  });

  test.for([{}, { approval_ttl_seconds: 0 }, { remember_ttl_seconds: 59 }, { name: 'x' }])(
    'is not changed by %j',
    async (body) => {
      expect(await codeOf(change(admin, body as never))).toBe('invalid_request');
    },
  );
});
