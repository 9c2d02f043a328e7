import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import { onEvents } from '#events';
import type { Role } from '#contracts/vocabulary';
import { context, createAuthWorld, testDeadline } from '../world.testing.ts';
import type { AuthWorld, Person } from '../world.testing.ts';

const page = { limit: 50, cursor: null };
const tokenIn = (url: string) => new URL(url).searchParams.get('token') ?? '';
const outcomeCodeOf = (work: Promise<unknown>) => work.then(() => 'done').catch(({ code }) => code);

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

const createEmail = () => `u${randomUUID()}@example.com`;
const invite = (email = createEmail(), role: Role = 'member', by = admin) =>
  world.client.inviteUser(
    { principal: by.principal, body: { email, role }, context },
    testDeadline(),
  );
const openSignInLink = (url: string) =>
  world.client.signIn(
    { token: tokenIn(url), userAgent: null, deviceToken: null, context },
    testDeadline(),
  );
const changeRole = (id: string, role: Role, by = admin) =>
  world.client.changeUser({ principal: by.principal, id, body: { role }, context }, testDeadline());

describe('an invitation', () => {
  test('creates a user and a link that works only once, even for parallel requests', async () => {
    const email = createEmail();
    const { url, user, expires_at } = await invite(email, 'auditor');
    expect(user).toMatchObject({ kind: 'user', email, role: 'auditor', status: 'active' });
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:0\/sign-in\?token=sil_/);
    const hours = (Date.parse(expires_at) - Date.now()) / 3_600_000;
    expect(Math.round(hours)).toBe(72);

    const outcomes = await Promise.all(
      Array.from({ length: 20 }, () => outcomeCodeOf(openSignInLink(url))),
    );

    expect(outcomes.filter((code) => code === 'done')).toHaveLength(1);
    expect(outcomes.filter((code) => code === 'expired')).toHaveLength(19);
  });

  test('gives an invited user a new link, and ends the older link, when it is repeated', async () => {
    const email = createEmail();
    const first = await invite(email, 'member');
    const second = await invite(email.toUpperCase(), 'auditor');

    expect(second.user).toMatchObject({ id: first.user.id, role: 'auditor' });
    expect(await outcomeCodeOf(openSignInLink(first.url))).toBe('expired');
    expect(await outcomeCodeOf(openSignInLink(second.url))).toBe('done');
    await expect(invite(email)).rejects.toMatchObject({
      code: 'conflict',
      details: { user_id: first.user.id },
    });
  });

  test('creates one user with one valid link when it is sent twenty times at once', async () => {
    const email = createEmail();
    const createdUsers = await Promise.all(Array.from({ length: 20 }, () => invite(email)));

    expect(new Set(createdUsers.map(({ user }) => user.id)).size).toBe(1);
    const outcomes = await Promise.all(
      createdUsers.map(({ url }) => outcomeCodeOf(openSignInLink(url))),
    );
    expect(outcomes.filter((code) => code === 'done')).toHaveLength(1);
  });

  test('cannot be used after it expired, or after its user was revoked', async () => {
    const old = await invite();
    await world.db`update auth.sign_in_link set expires_at = now() where identity_id = ${old.user.id}`;
    expect(await outcomeCodeOf(openSignInLink(old.url))).toBe('expired');

    const email = createEmail();
    const removedUser = await invite(email);
    await world.client.revokeIdentity(
      { principal: admin.principal, id: removedUser.user.id, context },
      testDeadline(),
    );
    expect(await outcomeCodeOf(openSignInLink(removedUser.url))).toBe('expired');
    // A new user may have the e-mail address of a revoked user.
    expect((await invite(email)).user.id).not.toBe(removedUser.user.id);
  });

  test('derives a unique name for each user from the e-mail address', async () => {
    const localPart = `ann${randomUUID().slice(0, 8)}`;
    const createdUsers = [
      await invite(`${localPart}@a.example`),
      await invite(`${localPart}@b.example`),
      await invite(`${localPart.toUpperCase()}@c.example`),
    ];
    expect(createdUsers.map(({ user }) => user.name)).toEqual([
      localPart,
      `${localPart}-2`,
      `${localPart}-3`,
    ]);

    const body = { email: createEmail(), role: 'member', name: localPart } as const;
    await expect(
      world.client.inviteUser({ principal: admin.principal, body, context }, testDeadline()),
    ).rejects.toMatchObject({ code: 'conflict' });
  });

  test('has a link that appears in no table and in no event', async () => {
    const { url } = await invite();
    const rows = await world.db`
      select l.*::text as row from auth.sign_in_link l union all select o.*::text from auth.outbox o
    `;
    expect(JSON.stringify(rows)).not.toContain(tokenIn(url));
  });
});

describe('a sign-in link that an admin creates', () => {
  test('ends older links at once; when the user then sets a new password, all other sessions of the user end', async () => {
    const { url, user } = await invite();
    const { sessionToken: old } = await openSignInLink(url);
    const make = () =>
      world.client.createSignInLink(
        { principal: admin.principal, id: user.id, context },
        testDeadline(),
      );
    const [first, second] = [await make(), await make()];
    expect(await outcomeCodeOf(openSignInLink(first.url))).toBe('expired');
    const { sessionToken } = await openSignInLink(second.url);
    const of = (token: string) =>
      world.client.authenticate({ kind: 'session', token }, testDeadline());
    expect(await outcomeCodeOf(of(old))).toBe('done');

    const { principal } = await of(sessionToken);
    const fields = { email: null, current: null, password: 'CANARY-brand-new-one' };
    await world.client.setPassword({ principal, context, ...fields }, testDeadline());

    await expect.poll(() => outcomeCodeOf(of(old))).toBe('unauthenticated');
    expect(await outcomeCodeOf(of(sessionToken))).toBe('done');
  });

  test("can be created only for users of the admin's own org", async () => {
    const stranger = await world.user({ name: 'eve', role: 'admin' });
    const bot = await world.agent(admin, `bot-${randomUUID().slice(0, 8)}`);
    for (const id of [stranger.id, bot.id, randomUUID()]) {
      const request = { principal: admin.principal, id, context };
      await expect(world.client.createSignInLink(request, testDeadline())).rejects.toMatchObject({
        code: 'not_found',
        message: 'There is no such user in your org.',
      });
    }
  });
});

describe('the role of a user', () => {
  test('takes effect at once on every replica when it changes, and the change emits an event', async () => {
    await world.startReplica();
    const ann = await world.user({
      name: `ann-${randomUUID()}`,
      role: 'admin',
      orgId: admin.orgId,
    });
    const bus = await world.environment.connect('approvals');
    const announcedEvent = Promise.withResolvers<unknown>();
    using _ = onEvents(bus, ['evt.auth.>'], (message) => {
      const body = message?.body as { type: string; data: unknown } | undefined;
      if (body?.type === 'identity.changed') announcedEvent.resolve(body.data);
    });
    await bus.nats.flush();
    const getRoleNow = async () => {
      const { claims } = await world.client.authenticate(
        { kind: 'session', token: ann.token },
        testDeadline(),
      );
      return claims.role;
    };
    for (let replica = 0; replica < 6; replica += 1) expect(await getRoleNow()).toBe('admin');

    expect(await changeRole(ann.id, 'auditor')).toMatchObject({ role: 'auditor' });

    expect(await announcedEvent.promise).toMatchObject({
      identity_id: ann.id,
      changes: { role: { before: 'admin', after: 'auditor' } },
    });
    for (let replica = 0; replica < 6; replica += 1) {
      await expect.poll(getRoleNow).toBe('auditor');
    }
    expect(await outcomeCodeOf(invite(createEmail(), 'member', { ...ann }))).toBe('done');
    const { principal } = await world.client.authenticate(
      { kind: 'session', token: ann.token },
      testDeadline(),
    );
    expect(await outcomeCodeOf(invite(createEmail(), 'member', { ...ann, principal }))).toBe(
      'forbidden',
    );
  });

  test('cannot be changed for the last admin of an org, even by parallel requests', async () => {
    const first = await world.user({ name: 'first', role: 'admin' });
    const others = await Promise.all(
      ['second', 'third'].map((name) => world.user({ name, role: 'admin', orgId: first.orgId })),
    );
    const allAdmins = [first, ...others];

    const outcomes = await Promise.all(
      allAdmins.map(({ id }) => outcomeCodeOf(changeRole(id, 'member', first))),
    );

    expect(outcomes.filter((code) => code === 'done')).toHaveLength(2);
    expect(outcomes).toContain('forbidden');
    const admins = await world.db`
      select id from auth.identity where org_id = ${first.orgId} and role = 'admin'
    `;
    expect(admins).toHaveLength(1);
  });

  test('can be changed only by admins of the same org', async () => {
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
      expect(await outcomeCodeOf(changeRole(member.id, 'admin', by))).toBe('forbidden');
      expect(await outcomeCodeOf(invite(createEmail(), 'admin', by))).toBe('forbidden');
    }
    expect(await outcomeCodeOf(changeRole(member.id, 'admin', stranger))).toBe('not_found');
    expect(await outcomeCodeOf(changeRole(bot.id, 'admin'))).toBe('not_found');
    const list = (by: Person) =>
      world.client.listUsers({ principal: by.principal, page }, testDeadline());
    expect(await outcomeCodeOf(list(member))).toBe('forbidden');
    expect((await list(auditor)).items.every(({ kind }) => kind === 'user')).toBe(true);
    expect((await list(stranger)).items.map(({ id }) => id)).toEqual([stranger.id]);
  });
});

describe('a user', () => {
  test('can be created without a sign-in link, which an admin creates later', async () => {
    const body = { email: createEmail(), role: 'member' } as const;
    const request = { principal: admin.principal, body, context };
    const user = await world.client.createUser(request, testDeadline());
    expect(await outcomeCodeOf(world.client.createUser(request, testDeadline()))).toBe('conflict');

    const { url } = await world.client.createSignInLink(
      { principal: admin.principal, id: user.id, context },
      testDeadline(),
    );
    expect(await outcomeCodeOf(openSignInLink(url))).toBe('done');
  });
});

describe('a session', () => {
  const sessionsOf = async ({ principal }: { principal: string }) =>
    (await world.client.listSessions({ principal, page }, testDeadline())).items;
  const isAccepted = (token: string) =>
    outcomeCodeOf(world.client.authenticate({ kind: 'session', token }, testDeadline()));

  test('is shown only to its own user, and only this user can end it', async () => {
    const { url, user } = await invite();
    const { sessionToken } = await openSignInLink(url);
    const mine = await world.client.authenticate(
      { kind: 'session', token: sessionToken },
      testDeadline(),
    );
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
      await expect(world.client.endSession(request, testDeadline())).rejects.toMatchObject({
        code: 'not_found',
      });
      expect((await sessionsOf(by)).map(({ id }) => id)).not.toContain(session?.id);
    }
    expect(await isAccepted(sessionToken)).toBe('done');
    const request = { principal: mine.principal, id: session?.id ?? '', context };
    await world.client.endSession(request, testDeadline());
    await expect.poll(() => isAccepted(sessionToken)).toBe('unauthenticated');
    expect(await outcomeCodeOf(world.client.endSession(request, testDeadline()))).toBe('not_found');
    const [event] = await world.db`
      select body from auth.outbox where type = 'session.ended' and body like ${`%${user.id}%`}
    `;
    expect(event?.['body']).toContain(session?.id);
  });

  test('ends on every replica when its user ends all other sessions from a second session', async () => {
    await world.startReplica();
    const { user, url } = await invite();
    const tokens = [(await openSignInLink(url)).sessionToken];
    for (let index = 0; index < 3; index += 1) {
      const link = await world.client.createSignInLink(
        { principal: admin.principal, id: user.id, context },
        testDeadline(),
      );
      tokens.push((await openSignInLink(link.url)).sessionToken);
    }
    const [first = '', ...others] = tokens;
    const { principal } = await world.client.authenticate(
      { kind: 'session', token: first },
      testDeadline(),
    );

    await world.client.endOtherSessions({ principal, context }, testDeadline());

    for (const token of others) {
      for (let replica = 0; replica < 4; replica += 1) {
        await expect.poll(() => isAccepted(token)).toBe('unauthenticated');
      }
    }
    expect(await isAccepted(first)).toBe('done');
    expect(await sessionsOf({ principal })).toHaveLength(1);
  });
});

describe('the settings of an org', () => {
  const getOrgAs = (by: Person) => world.client.getOrg({ principal: by.principal }, testDeadline());
  const changeOrgAs = (by: Person, body: Parameters<typeof world.client.changeOrg>[0]['body']) =>
    world.client.changeOrg({ principal: by.principal, body, context }, testDeadline());

  test('are changed by admins, and an event informs the other components', async () => {
    const ownUser = await world.user({ name: 'own', role: 'admin' });
    const before = await getOrgAs(ownUser);
    expect(before).toMatchObject({ approval_ttl_seconds: 86_400, oauth_client_allow_list: null });

    const after = await changeOrgAs(ownUser, {
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
    expect(await getOrgAs(ownUser)).toEqual(after);
    const settings = await world.approvalsClient.getOrgSettings(
      { orgId: ownUser.orgId },
      testDeadline(),
    );
    expect(settings).toMatchObject({ approvalTtlSeconds: 3_600, durableReadAudit: true });
    const [event] = await world.db`
      select body from auth.outbox where type = 'org.changed' and org_id = ${ownUser.orgId}
    `;
    expect(JSON.parse(event?.['body'] ?? '')).toMatchObject({
      data: {
        changed: ['approval_ttl_seconds', 'durable_read_audit', 'oauth_client_allow_list'],
      },
    });
    expect(
      (await changeOrgAs(ownUser, { oauth_client_allow_list: [] })).oauth_client_allow_list,
    ).toBeNull();
  });

  test('can be changed only by admins, and read by admins and auditors', async () => {
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
    expect(await outcomeCodeOf(getOrgAs(auditor))).toBe('done');
    expect(await outcomeCodeOf(getOrgAs(member))).toBe('forbidden');
    for (const by of [auditor, member]) {
      expect(await outcomeCodeOf(changeOrgAs(by, { auto_bubble_seconds: 0 }))).toBe('forbidden');
    }
  });

  test.for([{}, { approval_ttl_seconds: 0 }, { remember_ttl_seconds: 59 }, { name: 'x' }])(
    'cannot be set to invalid values: %j',
    async (body) => {
      expect(await outcomeCodeOf(changeOrgAs(admin, body as never))).toBe('invalid_request');
    },
  );
});
