import { randomUUID } from 'node:crypto';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { onEvents } from '#events';
import { event as eventSchema } from '#contracts/events';
import type { Event } from '#contracts/events';
import { createSigner } from '#signing';
import { auth } from '#contracts/bus/auth';
import { context, createAuthWorld, testDeadline } from '../world.testing.ts';
import type { AuthWorld, Person } from '../world.testing.ts';

const bearerCredential = (token: string) => ({ kind: 'bearer', token }) as const;
const page = { limit: 50, cursor: null };

/** All tests share this component; each test creates its own org. */
let world: AuthWorld;
beforeAll(async () => {
  world = await createAuthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

describe('an agent key', () => {
  test('gives a principal with the whole chain and every scope except user', async () => {
    const ann = await world.user({ name: 'ann', role: 'admin' });
    const bot = await world.agent(ann, 'bot');
    const sub = await world.subagent(bot, 'sub');

    const reply = await world.client.authenticate(bearerCredential(sub.token), testDeadline());

    expect(auth.endpoints.authenticate.response.safeParse(reply).success).toBe(true);
    expect(reply.claims).toMatchObject({
      orgId: ann.orgId,
      kind: 'subagent',
      userId: ann.id,
      role: null,
      chain: [
        { id: ann.id, kind: 'user', name: 'ann' },
        { id: bot.id, kind: 'agent', name: 'bot' },
        { id: sub.id, kind: 'subagent', name: 'sub', inheritPermissions: false },
      ],
      credential: { kind: 'agent_key', clientId: null },
      scopes: ['actions:read', 'actions:call', 'approvals', 'agents'],
    });
  });

  test('is refused when it is mistyped, truncated or invented', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const { token } = await world.agent(ann, 'bot');
    const lastCharacter = token.endsWith('A') ? 'B' : 'A';

    for (const wrongToken of [
      `${token.slice(0, -1)}${lastCharacter}`,
      token.slice(0, -1),
      'x',
      "' or 1=1 --",
    ]) {
      await expect(
        world.client.authenticate(bearerCredential(wrongToken), testDeadline()),
      ).rejects.toMatchObject({
        code: 'unauthenticated',
      });
    }
  });

  test('is stored only as a hash, and its first characters are listed', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');

    const { items } = await world.client.listAgentKeys(
      { principal: ann.principal, id: bot.id, page },
      testDeadline(),
    );
    expect(items).toMatchObject([{ name: 'first', hint: bot.token.slice(0, 10) }]);

    const secret = bot.token.slice(10);
    const matchingRows = await world.db`
      select k.*::text as row from auth.agent_key k
      union all select o.*::text from auth.outbox o
    `;
    expect(JSON.stringify(matchingRows)).not.toContain(secret);
  });

  test('is refused as soon as it is revoked, and cannot be revoked a second time', async () => {
    const { client } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    const keyId = bot.claims.credential.id;
    const request = { principal: ann.principal, id: bot.id, keyId, context };

    await client.revokeAgentKey(request, testDeadline());

    await expect(
      client.authenticate(bearerCredential(bot.token), testDeadline()),
    ).rejects.toMatchObject({
      code: 'unauthenticated',
    });
    await expect(client.revokeAgentKey(request, testDeadline())).rejects.toMatchObject({
      code: 'not_found',
    });
  });

  test('is refused after its expiry, and cannot be created with an expiry in the past', async () => {
    const { client, db } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    const create = (expires_at: string) =>
      client.createAgentKey(
        { principal: ann.principal, id: bot.id, body: { name: 'k', expires_at }, context },
        testDeadline(),
      );

    await expect(create('2020-01-01T00:00:00Z')).rejects.toMatchObject({ code: 'invalid_params' });
    const { id, key } = await create('2999-01-01T00:00:00Z');
    await db`update auth.agent_key set expires_at = now() where id = ${id}`;
    await expect(client.authenticate(bearerCredential(key), testDeadline())).rejects.toMatchObject({
      code: 'unauthenticated',
    });
  });

  test.for(['', 'x'.repeat(101), 'a\0b', 'a\nb'])('cannot be named %j', async (name) => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');

    await expect(
      world.client.createAgentKey(
        { principal: ann.principal, id: bot.id, body: { name }, context },
        testDeadline(),
      ),
    ).rejects.toMatchObject({ code: 'invalid_request' });
  });

  test('cannot be created for an agent that already has twenty keys', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    const body = { name: 'k' };

    const outcomes = await Promise.allSettled(
      Array.from({ length: 25 }, () =>
        world.client.createAgentKey(
          { principal: ann.principal, id: bot.id, body, context },
          testDeadline(),
        ),
      ),
    );

    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(19);
  });

  test.for([
    ['archived', { status: 'archived' }, 'identity_archived'],
    ['revoked', { status: 'revoked' }, 'unauthenticated'],
    ['expired', { expires_at: new Date(0) }, 'unauthenticated'],
  ] as const)('is refused when an ancestor is %s', async ([, change, code]) => {
    const { client, db } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    const body = { name: 'sub' };
    const sub = await client.createSubagent(
      { principal: bot.principal, body, context },
      testDeadline(),
    );
    const { key } = await client.createAgentKey(
      { principal: bot.principal, id: sub.id, body: { name: 'k' }, context },
      testDeadline(),
    );

    await db`update auth.identity set ${db(change)} where id = ${bot.id}`;

    await expect(client.authenticate(bearerCredential(key), testDeadline())).rejects.toMatchObject({
      code,
    });
    const chain = await world.approvalsClient.getChain(
      { orgId: ann.orgId, identityId: sub.id },
      testDeadline(),
    );
    expect(chain).toMatchObject({ active: false, role: null });
    expect(chain.chain.map(({ name }) => name)).toEqual(['ann', 'bot', 'sub']);
  });
});

describe('revoking an identity', () => {
  test('ends its descendants, and their keys and sessions, at once on every replica; its event lists all of them', async () => {
    const { client, environment } = world;
    await world.startReplica();
    const admin = await world.user({ name: 'root', role: 'admin' });
    const ann = await world.user({ name: 'ann', role: 'member', orgId: admin.orgId });
    const bot = await world.agent(ann, 'bot');
    const sub = await world.subagent(bot, 'sub');
    const bus = await environment.connect('gateway');
    const announcedEvent = Promise.withResolvers<Event>();
    using _ = onEvents(bus, ['evt.auth.>'], (message) => {
      const parsed = eventSchema.safeParse(message?.body);
      if (parsed.data?.type === 'identity.revoked') announcedEvent.resolve(parsed.data);
    });
    await bus.nats.flush();

    const reply = await client.revokeIdentity(
      { principal: admin.principal, id: ann.id, context },
      testDeadline(),
    );

    expect(reply).toMatchObject({ id: ann.id, status: 'revoked' });
    const event = await announcedEvent.promise;
    expect(event).toMatchObject({
      org_id: admin.orgId,
      audience: [ann.id],
      data: { identity_id: ann.id, name: 'ann', revoked_ids: [ann.id, bot.id, sub.id] },
      audit: null,
    });
    const [row] = await world.db<{ body: string }[]>`
      select body from auth.outbox where id = ${event.id}
    `;
    expect(JSON.parse(row?.body ?? '')).toMatchObject({
      audit: { user_id: admin.id, request_id: 'req-1', description: 'root revoked the user ann.' },
    });
    const attempts: [kind: 'bearer' | 'session', person: Person][] = [
      ['bearer', bot],
      ['bearer', sub],
      ['session', ann],
    ];
    for (const [kind, { token }] of attempts) {
      await expect
        .poll(() => client.authenticate({ kind, token }, testDeadline()).catch(({ code }) => code))
        .toBe('unauthenticated');
    }
  });

  test('is no error when the identity is already revoked, and emits no second event', async () => {
    const { client, db } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    const request = { principal: ann.principal, id: bot.id, context };

    await Promise.all([1, 2, 3].map(() => client.revokeIdentity(request, testDeadline())));

    const [events] = await db`
      select count(*)::integer as n from auth.outbox where type = 'identity.revoked' and org_id = ${ann.orgId}
    `;
    expect(events).toEqual({ n: 1 });
  });

  test('leaves no active descendant, although other requests create descendants at the same time', async () => {
    const { client, db } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');
    const create = (name: string) =>
      client.createSubagent({ principal: bot.principal, body: { name }, context }, testDeadline());

    await Promise.allSettled([
      ...Array.from({ length: 10 }, (_, i) => create(`before${i}`)),
      client.revokeIdentity({ principal: ann.principal, id: bot.id, context }, testDeadline()),
      ...Array.from({ length: 10 }, (_, i) => create(`after${i}`)),
    ]);

    const liveRows = await db`
      select name from auth.identity where parent_id = ${bot.id} and status <> 'revoked'
    `;
    expect([...liveRows]).toEqual([]);
  });
});

describe('a principal', () => {
  test('is refused when it is forged, manipulated or expired', async () => {
    const { client, environment } = world;
    const ann = await world.user({ name: 'ann', role: 'member' });
    const listAs = (principal: string) =>
      client.listIdentities({ principal, page }, testDeadline());
    const [payload = '', mac = ''] = ann.principal.split('.');
    const claims = JSON.stringify({ ...ann.claims, role: 'admin' });
    const forgedToken = `${Buffer.from(claims).toString('base64url')}.${mac}`;
    const staleClaims = { ...ann.claims, expiresAt: Date.now() - 2_000 };

    await listAs(ann.principal);
    for (const wrongToken of [
      forgedToken,
      `${payload}.${'A'.repeat(43)}`,
      createSigner('principal', 'another key of at least 32 bytes!!').sign(ann.claims),
      createSigner('permit', ...environment.keys.principal).sign(ann.claims),
      createSigner('principal', ...environment.keys.principal).sign(staleClaims),
    ]) {
      await expect(listAs(wrongToken)).rejects.toMatchObject({ code: 'unauthenticated' });
    }
  });
});

describe('the time at which each credential was last used', () => {
  test('is written to the database at the latest when the component stops', async () => {
    await using world = await createAuthWorld();
    const ann = await world.user({ name: 'ann', role: 'member' });
    const bot = await world.agent(ann, 'bot');

    await world.runningAuth[Symbol.asyncDispose]();

    const [seen] = await world.db`
      select i.last_active_at is not null as identity, k.last_used_at is not null as key
        from auth.identity i
        join auth.agent_key k on k.identity_id = i.id
       where i.id = ${bot.id}
    `;
    expect(seen).toEqual({ identity: true, key: true });
  });
});

describe('org settings', () => {
  test('have the documented defaults at first, and are not found for an unknown org', async () => {
    const { orgId } = await world.user({ name: 'ann', role: 'member' });

    expect(await world.approvalsClient.getOrgSettings({ orgId }, testDeadline())).toEqual({
      approvalTtlSeconds: 86_400,
      autoBubbleSeconds: 300,
      rememberTtlSeconds: 2_592_000,
      selfRememberMaxSeconds: 86_400,
      durableReadAudit: false,
      orgName: expect.any(String),
    });
    await expect(
      world.approvalsClient.getOrgSettings({ orgId: randomUUID() }, testDeadline()),
    ).rejects.toMatchObject({ code: 'not_found' });
  });
});
