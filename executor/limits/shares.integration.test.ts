import { randomBytes } from 'node:crypto';

import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import type { CallerIds } from '#shares';
import { createLogger } from '#telemetry';
import { sweepDispatches } from '../calls/sweep-dispatches.ts';
import { canary, context, createWorld, options, testDeadline } from '../world.testing.ts';
import type { World } from '../world.testing.ts';

const mebibyte = 1024 * 1024;
const logger = createLogger({ component: 'test', level: 'silent' });
let world: World;
let caller: CallerIds;
let otherCallers: readonly [name: string, other: CallerIds][];

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
  otherCallers = [
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

/** Repeats the work until it is refused. Returns the number of successes and the error. */
async function repeatUntilRefused(
  work: () => Promise<unknown>,
): Promise<{ times: number; error: unknown }> {
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
  const executeAs = (by: CallerIds, action = 'get') => {
    const call = world.actionCall(action, action === 'get' ? { id: '1' } : { title: 't' });
    return world.gateway.execute(
      { permit: world.permitOf(call, by), call, options, context },
      testDeadline(),
    );
  };
  const answerWith = (bytes: number) => {
    const body = randomBytes(bytes);
    world.upstream.answer((_hit, reply) =>
      reply.setHeader('content-type', 'application/octet-stream').end(body),
    );
  };
  const sumHeldBytes = async () => {
    const [row] = await world.sql<{ held: number }[]>`
      select coalesce(sum(amount), 0)::float8 as held from executor.share_use where pool = 'files'
    `;
    return row?.held;
  };

  test('take up at most their caller’s share, and other callers can still store files', async () => {
    answerWith(4 * mebibyte);
    const { times, error } = await repeatUntilRefused(() => executeAs(caller));

    // The caller's share is half of 64 MiB, and one reservation beyond the share was refused.
    expect(times).toBeGreaterThanOrEqual(5);
    expect(times).toBeLessThanOrEqual(8);
    expect(error).toMatchObject({ code: 'rate_limited', details: { retry_after: 600 } });
    expect(await sumHeldBytes()).toBe(times * 4 * mebibyte);
    for (const [name, other] of otherCallers) {
      expect(await executeAs(other), name).toMatchObject({
        result: { file: { size: 4 * mebibyte } },
      });
    }
    // A write has taken effect when its answer arrives, so the call succeeds and only the bytes of
    // the answer are missing.
    expect(await executeAs(caller, 'create')).toMatchObject({
      kind: 'called',
      result: { body_omitted: { reason: 'not_stored' } },
    });
  });

  test('free their space when their bodies break off, and when they expire after an hour', async () => {
    world.upstream.answer((_hit, reply) => {
      reply.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': 9e6 });
      reply.write(randomBytes(2 * mebibyte), () => reply.destroy());
    });
    await expect(executeAs(caller)).rejects.toMatchObject({ code: 'upstream_incomplete' });
    expect(await sumHeldBytes()).toBe(0);

    answerWith(1_000);
    await executeAs(caller);
    expect(await sumHeldBytes()).toBe(64 * 1024);
    await world.sql`update executor.share_use set expires_at = now()`;
    await sweepDispatches({ db: world.sql, logger });
    expect(await world.sql`select 1 from executor.share_use`).toHaveLength(0);
  });

  test('count against the share before they are complete, even when they are written concurrently', async () => {
    answerWith(8 * mebibyte);
    const all = await Promise.allSettled(Array.from({ length: 12 }, () => executeAs(caller)));
    const keptFiles = all.filter(({ status }) => status === 'fulfilled');

    expect(keptFiles.length).toBeLessThanOrEqual(4);
    expect(await sumHeldBytes()).toBe(keptFiles.length * 8 * mebibyte);
    for (const each of all) {
      if (each.status === 'rejected') expect(each.reason).toMatchObject({ code: 'rate_limited' });
    }
  });
});

describe('audit records', () => {
  test('are counted before concurrent calls are sent, and leave space for other callers', async () => {
    await using small = await createWorld({ variables: { AUDIT_BYTES_PER_MINUTE: '100000' } });
    const createAs = (by: CallerIds) => {
      const call = small.actionCall('create', { title: 't' });
      const permit = small.permitOf(call, { ...by, description: 'x'.repeat(1_900) });
      return small.gateway.execute({ permit, call, options, context }, testDeadline());
    };
    const ownCaller = { orgId: small.orgId, userId: small.userId, identityId: small.agentId };
    const ends = await Promise.allSettled(Array.from({ length: 60 }, () => createAs(ownCaller)));
    const codes = ends.map((end) => (end.status === 'fulfilled' ? 'called' : end.reason.code));
    expect(new Set(codes)).toEqual(new Set(['called', 'rate_limited']));
    expect(codes.filter((code) => code === 'called').length).toBeLessThan(14);
    expect(small.upstream.hits).toHaveLength(codes.filter((code) => code === 'called').length);
    await createAs({ ...ownCaller, orgId: uuidv7() });
  });

  test('use up only the caller’s own share for the minute, even with large disclosed fields', async () => {
    await using small = await createWorld({ variables: { AUDIT_BYTES_PER_MINUTE: '100000' } });
    const createAs = (by: CallerIds) => {
      const call = small.actionCall('create', { title: 't' });
      const permit = small.permitOf(call, { ...by, description: 'x'.repeat(1_900) });
      return small.gateway.execute({ permit, call, options, context }, testDeadline());
    };
    const ownCaller = { orgId: small.orgId, userId: small.userId, identityId: small.agentId };
    const { times, error } = await repeatUntilRefused(() => createAs(ownCaller));

    expect(times).toBeGreaterThan(5);
    expect(times).toBeLessThan(14);
    expect(error).toMatchObject({ code: 'rate_limited', details: { retry_after: 30 } });
    expect(small.upstream.hits).toHaveLength(times);
    expect(await small.sql`select 1 from executor.dispatch`).toHaveLength(times);
    await createAs({ ...ownCaller, identityId: uuidv7() });
    await createAs({ ...ownCaller, orgId: uuidv7() });
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
  /**
   * Requests more access to one account, always the same, so that only one connection is pending.
   */
  const askForAccount = (by: CallerIds) =>
    world.gateway.createConnection(
      { principal: principalOf(by), body: { provider: 'github' }, context },
      testDeadline(),
    );

  test('are limited per hour and caller, without effect on other callers', async () => {
    const { times, error } = await repeatUntilRefused(() => askForAccount(caller));

    // The user's share is a quarter of 160, and an identity's share is half of the user's.
    expect(times).toBe(20);
    expect(error).toMatchObject({
      code: 'rate_limited',
      message: expect.stringContaining('of this identity'),
      details: { retry_after: 600 },
    });
    const secret = { principal: principalOf(caller), body: { name: 'a_secret' }, context };
    await expect(world.gateway.requestSecret(secret, testDeadline())).rejects.toMatchObject({
      code: 'rate_limited',
    });
    for (const [, other] of otherCallers) await askForAccount(other);

    await world.sql`update executor.share_use set expires_at = now()`;
    await world.gateway.requestSecret(secret, testDeadline());
  });
});
