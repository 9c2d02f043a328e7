import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Event } from '#contracts/events';
import type { UpdateIdentityBody } from '#contracts/http/identities';
import { context, createAuthWorld, soon } from './world.testing.ts';
import type { AuthWorld, Person } from './world.testing.ts';

/** One component for all tests: each makes an org of its own. */
let world: AuthWorld;
beforeAll(async () => {
  world = await createAuthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/** Ann and Bob are members of one org with an admin and an auditor; Eve is admin of another. */
async function createCast() {
  const admin = await world.user({ name: 'root', role: 'admin' });
  const { orgId } = admin;
  const auditor = await world.user({ name: 'olga', role: 'auditor', orgId });
  const ann = await world.user({ name: 'ann', role: 'member', orgId });
  const bob = await world.user({ name: 'bob', role: 'member', orgId });
  const eve = await world.user({ name: 'eve', role: 'admin' });
  const bot = await world.agent(ann, 'bot');
  const sub = await world.subagent(bot, 'sub');
  const subsub = await world.subagent(sub, 'subsub');
  const given = await world.subagent(ann, 'given', bot.id);
  const adminsBot = await world.agent(admin, 'bot');
  return { admin, auditor, ann, bob, eve, bot, sub, subsub, given, adminsBot };
}
type Cast = Awaited<ReturnType<typeof createCast>>;
type Name = keyof Cast;

const outcomeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? String(error),
  );
const update = (by: Person, on: Person, body: UpdateIdentityBody) =>
  world.client.updateIdentity({ principal: by.principal, id: on.id, body, context }, soon());
const archive = (by: Person, on: { id: string }) =>
  world.client.archiveIdentity({ principal: by.principal, id: on.id, context }, soon());
const restore = (by: Person, on: { id: string }) =>
  world.client.restoreIdentity({ principal: by.principal, id: on.id, context }, soon());
const revoke = (by: Person, on: { id: string }) =>
  world.client.revokeIdentity({ principal: by.principal, id: on.id, context }, soon());
const knock = ({ token }: Person) =>
  outcomeOf(
    world.client.authenticate(
      { kind: token.startsWith('ses_') ? 'session' : 'bearer', token },
      soon(),
    ),
  );
const eventsOf = async (id: string): Promise<Event[]> => {
  const rows = await world.db<{ body: string }[]>`select body from auth.outbox order by id`;
  return rows
    .map(({ body }) => JSON.parse(body) as Event)
    .filter(({ data }) => data['identity_id'] === id);
};

describe('changing an identity', () => {
  const renames = { name: 'renamed' };
  const inherits = { inherit_permissions: true };
  const ends = { expires_at: '2100-01-01T00:00:00Z' };
  test.for<[by: Name, body: UpdateIdentityBody, on: Name, outcome: string]>([
    ['ann', renames, 'bot', 'ok'],
    ['ann', { auto_call_on_approve: false }, 'subsub', 'ok'],
    ['ann', inherits, 'sub', 'ok'],
    ['ann', ends, 'bot', 'ok'],
    ['admin', renames, 'bot', 'ok'],
    ['bot', renames, 'sub', 'ok'],
    ['bot', renames, 'subsub', 'ok'],
    ['bot', inherits, 'sub', 'ok'],
    ['bot', ends, 'sub', 'ok'],
    // Neither made it itself: one is its child's child, the other Ann gave it.
    ['bot', inherits, 'subsub', 'forbidden'],
    ['bot', inherits, 'given', 'forbidden'],
    ['bot', ends, 'given', 'forbidden'],
    ['bot', { expires_at: null }, 'given', 'forbidden'],
    ['bot', renames, 'bot', 'forbidden'],
    ['sub', renames, 'sub', 'forbidden'],
    ['sub', inherits, 'sub', 'forbidden'],
    ['sub', renames, 'bot', 'not_found'],
    ['sub', renames, 'given', 'not_found'],
    ['bob', renames, 'bot', 'not_found'],
    ['eve', renames, 'bot', 'not_found'],
    ['adminsBot', renames, 'bot', 'not_found'],
    ['auditor', renames, 'bot', 'forbidden'],
    ['ann', renames, 'ann', 'forbidden'],
    ['admin', renames, 'ann', 'forbidden'],
    ['ann', inherits, 'bot', 'invalid_params'],
    ['ann', { expires_at: '2020-01-01T00:00:00Z' }, 'bot', 'invalid_params'],
    ['ann', { name: 'given' }, 'sub', 'conflict'],
    ['ann', { name: 'Sub' }, 'sub', 'invalid_request'],
    ['ann', { name: 'org' }, 'sub', 'invalid_request'],
    ['ann', {}, 'sub', 'invalid_request'],
    ['ann', { parent_id: 'x' } as object, 'sub', 'invalid_request'],
  ])('%s, %j of %s: %s', async ([by, body, on, outcome]) => {
    const cast = await createCast();

    expect(await outcomeOf(update(cast[by], cast[on], body))).toBe(outcome);
    const changed = (await eventsOf(cast[on].id)).filter(({ type }) => type === 'identity.changed');
    expect(changed).toHaveLength(outcome === 'ok' ? 1 : 0);
  });

  test('leaves what is not named, tells before and after, and says nothing of no change', async () => {
    const { ann, bot } = await createCast();
    const ends = '2100-01-01T00:00:00.000Z';

    expect(await update(ann, bot, { name: 'deploy-bot', expires_at: ends })).toMatchObject({
      path: ['ann', 'deploy-bot'],
      auto_call_on_approve: true,
      expires_at: ends,
      parent_id: ann.id,
    });
    await update(ann, bot, { name: 'deploy-bot' });
    expect(await update(ann, bot, { expires_at: null })).toMatchObject({ expires_at: null });

    const changed = (await eventsOf(bot.id)).filter(({ type }) => type === 'identity.changed');
    expect(changed).toMatchObject([
      {
        data: {
          changes: {
            name: { before: 'bot', after: 'deploy-bot' },
            expires_at: { before: null, after: ends },
          },
        },
        audit: {
          description: `ann changed the agent ann / bot (name bot → deploy-bot, expires_at none → ${ends}).`,
          identity: { id: ann.id },
        },
      },
      { data: { changes: { expires_at: { before: ends, after: null } } } },
    ]);
  });

  test('to one name by eight siblings at once succeeds for one', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const agents = [];
    for (let i = 0; i < 8; i += 1) agents.push(await world.agent(ann, `a${i}`));

    const outcomes = await Promise.all(
      agents.map((agent) => outcomeOf(update(ann, agent, { name: 'same' }))),
    );

    expect(outcomes.toSorted()).toEqual([...Array(7).fill('conflict'), 'ok']);
  });

  test('no principal outlives the identity it vouches for, nor one above it', async () => {
    const { ann, bot, sub } = await createCast();
    const ends = new Date(Date.now() + 6_000);
    await update(ann, bot, { expires_at: ends.toISOString() });
    for (const { token } of [bot, sub]) {
      const { claims } = await world.client.authenticate({ kind: 'bearer', token }, soon());
      expect(claims.expiresAt).toBe(ends.getTime());
    }
    const { claims } = await world.client.authenticate(
      { kind: 'session', token: ann.token },
      soon(),
    );
    expect(claims.expiresAt).toBeGreaterThan(ends.getTime());
  });

  test('an end that comes stops it and all below it; a later end lets them act again', async () => {
    const { ann, bot, sub } = await createCast();
    await world.db`update auth.identity set expires_at = now() where id = ${bot.id}`;
    await update(ann, sub, { auto_call_on_approve: false });

    expect([await knock(bot), await knock(sub)]).toEqual(['unauthenticated', 'unauthenticated']);
    const chain = { orgId: bot.orgId, identityId: sub.id };
    expect(await world.approvals.getChain(chain, soon())).toMatchObject({
      active: false,
      standing: 'expired',
    });

    await update(ann, bot, { expires_at: null });
    expect([await knock(bot), await knock(sub)]).toEqual(['ok', 'ok']);
  });
});

describe('archiving', () => {
  test.for<[by: Name, on: Name, outcome: string]>([
    ['ann', 'bot', 'ok'],
    ['bot', 'sub', 'ok'],
    ['bot', 'subsub', 'ok'],
    ['admin', 'bot', 'ok'],
    ['admin', 'ann', 'ok'],
    ['admin', 'admin', 'forbidden'],
    ['ann', 'ann', 'forbidden'],
    ['bot', 'bot', 'forbidden'],
    ['sub', 'bot', 'not_found'],
    ['sub', 'given', 'not_found'],
    ['bob', 'bot', 'not_found'],
    ['adminsBot', 'bot', 'not_found'],
    ['auditor', 'bot', 'forbidden'],
    ['eve', 'bot', 'not_found'],
  ])('%s archives %s: %s', async ([by, on, outcome]) => {
    const cast = await createCast();

    expect(await outcomeOf(archive(cast[by], cast[on]))).toBe(outcome);
    expect(await knock(cast[on])).toBe(outcome === 'ok' ? 'identity_archived' : 'ok');
  });

  test('stops all below it, keys and sessions, and restoring lets them act with the same ones', async () => {
    const { admin, ann, bot, subsub } = await createCast();

    expect(await archive(admin, ann)).toMatchObject({ status: 'archived' });
    for (const each of [ann, bot, subsub]) expect(await knock(each)).toBe('identity_archived');
    const chain = { orgId: ann.orgId, identityId: subsub.id };
    expect(await world.approvals.getChain(chain, soon())).toMatchObject({
      active: false,
      standing: 'archived',
    });

    expect(await restore(admin, ann)).toMatchObject({ status: 'active' });
    for (const each of [ann, bot, subsub]) expect(await knock(each)).toBe('ok');
  });

  test('an auditor has no agents act for it, until it is something else again', async () => {
    const { admin, ann, bot, subsub } = await createCast();
    const become = (role: 'auditor' | 'member') =>
      world.client.changeUser(
        { principal: admin.principal, id: ann.id, body: { role }, context },
        soon(),
      );
    const standing = async () =>
      (await world.approvals.getChain({ orgId: ann.orgId, identityId: subsub.id }, soon()))
        .standing;

    await become('auditor');
    for (const each of [bot, subsub]) expect(await knock(each)).toBe('identity_archived');
    expect(await knock(ann)).toBe('ok');
    expect(await standing()).toBe('archived');
    const key = { principal: admin.principal, id: bot.id, body: { name: 'late' }, context };
    expect(await outcomeOf(world.client.createAgentKey(key, soon()))).toBe('conflict');

    await become('member');
    for (const each of [bot, subsub]) expect(await knock(each)).toBe('ok');
    expect(await standing()).toBe('active');
  });

  test('what below it was archived by itself stays so', async () => {
    const { ann, bot, sub, subsub } = await createCast();
    await archive(ann, sub);
    await archive(ann, bot);
    await restore(ann, bot);

    expect([await knock(bot), await knock(sub), await knock(subsub)]).toEqual([
      'ok',
      'identity_archived',
      'identity_archived',
    ]);
  });

  test.for<[archiver: Name, restorer: Name, outcome: string]>([
    ['admin', 'admin', 'ok'],
    ['admin', 'ann', 'forbidden'],
    ['admin', 'bot', 'forbidden'],
    ['ann', 'admin', 'ok'],
    ['ann', 'ann', 'ok'],
    ['ann', 'bot', 'forbidden'],
    ['ann', 'auditor', 'forbidden'],
    ['ann', 'bob', 'not_found'],
    ['ann', 'eve', 'not_found'],
    ['bot', 'bot', 'ok'],
    ['bot', 'ann', 'ok'],
    ['bot', 'sub', 'forbidden'],
    ['sub', 'sub', 'ok'],
    ['sub', 'bot', 'ok'],
    ['subsub', 'sub', 'ok'],
  ])('by %s is undone by %s: %s', async ([archiver, restorer, outcome]) => {
    const cast = await createCast();
    // Nobody archives itself: the lowest acts one below.
    const target = archiver === 'subsub' ? await world.subagent(cast.subsub, 'deep') : cast.subsub;
    await archive(cast[archiver], target);

    expect(await outcomeOf(restore(cast[restorer], target))).toBe(outcome);
    expect(await knock(target)).toBe(outcome === 'ok' ? 'ok' : 'identity_archived');
  });

  test('again by somebody higher takes that one to restore, and not by somebody lower', async () => {
    const { admin, ann, bot, sub } = await createCast();
    await archive(bot, sub);
    await archive(admin, sub);
    await archive(ann, sub);

    expect(await outcomeOf(restore(bot, sub))).toBe('forbidden');
    expect(await outcomeOf(restore(ann, sub))).toBe('forbidden');
    expect(await outcomeOf(restore(admin, sub))).toBe('ok');
    const changed = (await eventsOf(sub.id)).filter(({ type }) => type === 'identity.changed');
    expect(changed.map(({ audit }) => audit?.description)).toEqual([
      'ann / bot archived the subagent ann / bot / sub (status active → archived).',
      'root archived the subagent ann / bot / sub (again).',
      'root restored the subagent ann / bot / sub (status archived → active).',
    ]);
  });

  test('gives the name up: a new one may take it, and then the old one cannot come back under it', async () => {
    const { ann, bot } = await createCast();
    await archive(ann, bot);
    const next = await world.agent(ann, 'bot');

    expect(next.id).not.toBe(bot.id);
    expect(await outcomeOf(restore(ann, bot))).toBe('conflict');
    await update(ann, bot, { name: 'old-bot' });
    expect(await restore(ann, bot)).toMatchObject({ status: 'active', name: 'old-bot' });
  });

  test('a user keeps its name, so that it can always come back', async () => {
    const { admin, ann } = await createCast();
    await archive(admin, ann);

    await expect(
      world.user({ name: 'ann', role: 'member', orgId: ann.orgId }),
    ).rejects.toMatchObject({ code: '23505' });
    expect(await restore(admin, ann)).toMatchObject({ status: 'active', name: 'ann' });
  });

  test('a name is taken once, by a restoration or a new agent, whichever of many is first', async () => {
    const { ann, bot } = await createCast();
    await archive(ann, bot);
    const create = () =>
      world.client.createAgent(
        { principal: ann.principal, body: { name: 'bot' }, context },
        soon(),
      );

    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, i) => outcomeOf(i % 2 === 0 ? restore(ann, bot) : create())),
    );

    const rows = await world.db`
      select id from auth.identity
       where parent_id = ${ann.id} and name = 'bot' and status = 'active'
    `;
    expect(rows).toHaveLength(1);
    expect(outcomes).toContain('ok');
    expect(outcomes).toContain('conflict');
  });

  test('revoking is final for what is archived too, and for what lies below', async () => {
    const { admin, ann, bot, sub } = await createCast();
    await archive(ann, sub);
    await revoke(ann, bot);

    for (const each of [bot, sub]) {
      expect(await outcomeOf(restore(admin, each))).toBe('conflict');
      expect(await outcomeOf(archive(admin, each))).toBe('conflict');
      expect(await outcomeOf(update(admin, each, { name: 'new' }))).toBe('conflict');
      expect(await knock(each)).toBe('unauthenticated');
    }
  });

  test('of twenty archives and revocations at once the end is revoked', async () => {
    const { ann, bot, sub } = await createCast();
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        outcomeOf([archive, restore, revoke][i % 3]?.(ann, bot) ?? Promise.resolve()),
      ),
    );

    expect(await knock(sub)).toBe('unauthenticated');
    const { status } = await world.client.getIdentity(
      { principal: ann.principal, id: bot.id },
      soon(),
    );
    expect(status).toBe('revoked');
  });

  test('two admins cannot archive each other', async () => {
    const one = await world.user({ name: 'one', role: 'admin' });
    const two = await world.user({ name: 'two', role: 'admin', orgId: one.orgId });

    const outcomes = await Promise.all([
      outcomeOf(archive(one, two)),
      outcomeOf(archive(two, one)),
    ]);

    expect(outcomes.toSorted()).toEqual(['forbidden', 'ok']);
  });
});
