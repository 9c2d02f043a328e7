import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { CallerIds } from '#shares';
import { createLogger } from '#telemetry';
import { sweepDispatches } from './usecases/sweep-dispatches.ts';
import { canary, context, createWorld, options, soon } from './world.testing.ts';
import type { World } from './world.testing.ts';

const mebibyte = 1024 * 1024;
const logger = createLogger({ component: 'test', level: 'silent' });
let world: World;
let caller: CallerIds;
let others: readonly [name: string, other: CallerIds][];

beforeAll(async () => {
  world = await createWorld({
    variables: {
      CAP_FILES_BYTES: String(64 * mebibyte),
      CAP_RESPONSE_STORED_BYTES: String(16 * mebibyte),
      REQUESTS_PER_HOUR: '160',
      OAUTH_GITHUB_CLIENT_ID: 'gateway',
      OAUTH_GITHUB_CLIENT_SECRET: canary(),
    },
  });
  const { orgId, userId, agentId: identityId } = world;
  caller = { orgId, userId, identityId };
  others = [
    ['another identity of the user', { ...caller, identityId: uuidv7() }],
    ['another user of the org', { ...caller, userId: uuidv7(), identityId: uuidv7() }],
    ['another org', { orgId: uuidv7(), userId: uuidv7(), identityId: uuidv7() }],
  ];
});
afterAll(() => world[Symbol.asyncDispose]());
beforeEach(async () => {
  world.upstream.reset();
  await world.sql`delete from executor.share_use`;
});

/** Does it until it is refused. */
async function loop(work: () => Promise<unknown>): Promise<{ times: number; error: unknown }> {
  for (let times = 0; times < 500; times += 1) {
    try {
      await work();
    } catch (error) {
      return { times, error };
    }
  }
  throw new Error('it was never refused');
}

describe('files', () => {
  const get = (by: CallerIds, action = 'get') => {
    const call = world.actionCall(action, action === 'get' ? { id: '1' } : { title: 't' });
    return world.gateway.execute(
      { permit: world.permitOf(call, by), call, options, context },
      soon(),
    );
  };
  const answerWith = (bytes: number) => {
    const body = randomBytes(bytes);
    world.upstream.answer((_hit, reply) =>
      reply.setHeader('content-type', 'application/octet-stream').end(body),
    );
  };
  const held = async () => {
    const [row] = await world.sql<{ held: number }[]>`
      select coalesce(sum(amount), 0)::float8 as held from executor.share_use where pool = 'files'
    `;
    return row?.held;
  };

  test('of one caller fill its share, and those of others are kept all the same', async () => {
    answerWith(4 * mebibyte);
    const { times, error } = await loop(() => get(caller));

    // Half of 64 MiB, less what the next piece would have taken.
    expect(times).toBeGreaterThanOrEqual(5);
    expect(times).toBeLessThanOrEqual(8);
    expect(error).toMatchObject({ code: 'rate_limited', details: { retry_after: 600 } });
    expect(await held()).toBe(times * 4 * mebibyte);
    for (const [name, other] of others) {
      expect(await get(other), name).toMatchObject({
        result: { file: { size: 4 * mebibyte } },
      });
    }
    // Of a write, which is done, the bytes are all that is missing.
    expect(await get(caller, 'create')).toMatchObject({
      kind: 'called',
      result: { body_omitted: { reason: 'not_stored' } },
    });
  });

  test('take no room when they break, and give it back when their hour is over', async () => {
    world.upstream.answer((_hit, reply) => {
      reply.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': 9e6 });
      reply.write(randomBytes(2 * mebibyte), () => reply.destroy());
    });
    await expect(get(caller)).rejects.toMatchObject({ code: 'upstream_incomplete' });
    expect(await held()).toBe(0);

    answerWith(1_000);
    await get(caller);
    expect(await held()).toBe(64 * 1024);
    await world.sql`update executor.share_use set expires_at = now()`;
    await sweepDispatches({ db: world.sql, logger });
    expect(await world.sql`select 1 from executor.share_use`).toHaveLength(0);
  });

  test('that are written at the same time are counted before they are whole', async () => {
    answerWith(8 * mebibyte);
    const all = await Promise.allSettled(Array.from({ length: 12 }, () => get(caller)));
    const kept = all.filter(({ status }) => status === 'fulfilled');

    expect(kept.length).toBeLessThanOrEqual(4);
    expect(await held()).toBe(kept.length * 8 * mebibyte);
    for (const each of all) {
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'rate_limited' });
    }
  });
});

describe('audit rows', () => {
  test('of calls that come at once count before they are sent, and leave room to others', async () => {
    await using small = await createWorld({ variables: { AUDIT_BYTES_PER_MINUTE: '100000' } });
    const post = (by: CallerIds) => {
      const call = small.actionCall('create', { title: 't' });
      const permit = small.permitOf(call, { ...by, description: 'x'.repeat(1_900) });
      return small.gateway.execute({ permit, call, options, context }, soon());
    };
    const own = { orgId: small.orgId, userId: small.userId, identityId: small.agentId };
    const ends = await Promise.allSettled(Array.from({ length: 60 }, () => post(own)));
    const codes = ends.map((end) => (end.status === 'fulfilled' ? 'called' : end.reason.code));
    expect(new Set(codes)).toEqual(new Set(['called', 'rate_limited']));
    expect(codes.filter((code) => code === 'called').length).toBeLessThan(14);
    expect(small.upstream.hits).toHaveLength(codes.filter((code) => code === 'called').length);
    await post({ ...own, orgId: uuidv7() });
  });

  test('of writes that disclose much use up their caller’s share of a minute, and nobody else’s', async () => {
    await using small = await createWorld({ variables: { AUDIT_BYTES_PER_MINUTE: '100000' } });
    const post = (by: CallerIds) => {
      const call = small.actionCall('create', { title: 't' });
      const permit = small.permitOf(call, { ...by, description: 'x'.repeat(1_900) });
      return small.gateway.execute({ permit, call, options, context }, soon());
    };
    const own = { orgId: small.orgId, userId: small.userId, identityId: small.agentId };
    const { times, error } = await loop(() => post(own));

    expect(times).toBeGreaterThan(5);
    expect(times).toBeLessThan(14);
    expect(error).toMatchObject({ code: 'rate_limited', details: { retry_after: 30 } });
    expect(small.upstream.hits).toHaveLength(times);
    expect(await small.sql`select 1 from executor.dispatch`).toHaveLength(times);
    await post({ ...own, identityId: uuidv7() });
    await post({ ...own, orgId: uuidv7() });
  });
});

describe('requests to people', () => {
  const principalOf = (by: CallerIds) =>
    world.principalOf({
      ...by,
      role: null,
      kind: 'agent',
      scopes: ['agents'],
      chain: [
        { id: by.userId, kind: 'user', name: 'ann', inheritPermissions: false },
        { id: by.identityId, kind: 'agent', name: 'bot', inheritPermissions: false },
      ],
    });
  /** For more access to one account, again and again: no more than one waits to be connected. */
  const askForAccount = (by: CallerIds) =>
    world.gateway.createConnection(
      { principal: principalOf(by), body: { provider: 'github' }, context },
      soon(),
    );

  test('are limited within an hour, and those of others are not hindered', async () => {
    const { times, error } = await loop(() => askForAccount(caller));

    // A quarter of 160 are for one user, half of them for one identity.
    expect(times).toBe(20);
    expect(error).toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('of this identity'),
      details: { retry_after: 600 },
    });
    const secret = { principal: principalOf(caller), body: { name: 'a_secret' }, context };
    await expect(world.gateway.requestSecret(secret, soon())).rejects.toMatchObject({
      code: 'rate_limited',
    });
    for (const [, other] of others) await askForAccount(other);

    await world.sql`update executor.share_use set expires_at = now()`;
    await world.gateway.requestSecret(secret, soon());
  });
});
