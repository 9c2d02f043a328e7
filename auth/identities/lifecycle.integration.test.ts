import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Event } from '#contracts/events';
import type { UpdateIdentityBody } from '#contracts/http/identities';
import { context, createAuthWorld, testDeadline } from '../world.testing.ts';
import type { AuthWorld, Person } from '../world.testing.ts';

/** All tests share this component; each test creates its own org. */
let world: AuthWorld;
beforeAll(async () => {
  world = await createAuthWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

/**
 * Ann and Bob are members of one org with an admin and an auditor; Eve is an admin of another org.
 */
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
  const givenSubagent = await world.subagent(ann, 'given', bot.id);
  const adminsBot = await world.agent(admin, 'bot');
  return { admin, auditor, ann, bob, eve, bot, sub, subsub, given: givenSubagent, adminsBot };
}
type Cast = Awaited<ReturnType<typeof createCast>>;
type CastName = keyof Cast;

/** The names of these identities in the titles of the tests. */
const titleNames: Record<CastName, string> = {
  admin: 'an admin',
  auditor: 'an auditor',
  ann: 'a member',
  bob: 'another member',
  eve: 'an admin of another org',
  bot: "the member's agent",
  sub: "the agent's subagent",
  subsub: "the subagent's subagent",
  given: 'a subagent that the member created below the agent',
  adminsBot: "an admin's agent",
};

/** Adds the names of the two identities to the front of each row, for the title of the test. */
const withTitleNames = (
  rows: readonly [by: CastName, on: CastName, outcome: string][],
  selfWord = 'itself',
) =>
  rows.map(
    ([by, on, outcome]) =>
      [titleNames[by], by === on ? selfWord : titleNames[on], outcome, by, on] as const,
  );

const outcomeCodeOf = (attempt: Promise<unknown>): Promise<string> =>
  attempt.then(
    () => 'ok',
    (error: { code?: string }) => error.code ?? String(error),
  );
const update = (by: Person, on: Person, body: UpdateIdentityBody) =>
  world.client.updateIdentity(
    { principal: by.principal, id: on.id, body, context },
    testDeadline(),
  );
const archive = (by: Person, on: { id: string }) =>
  world.client.archiveIdentity({ principal: by.principal, id: on.id, context }, testDeadline());
const restore = (by: Person, on: { id: string }) =>
  world.client.restoreIdentity({ principal: by.principal, id: on.id, context }, testDeadline());
const revoke = (by: Person, on: { id: string }) =>
  world.client.revokeIdentity({ principal: by.principal, id: on.id, context }, testDeadline());
const authenticationOf = ({ token }: Person) =>
  outcomeCodeOf(
    world.client.authenticate(
      { kind: token.startsWith('ses_') ? 'session' : 'bearer', token },
      testDeadline(),
    ),
  );
const eventsOf = async (id: string): Promise<Event[]> => {
  const rows = await world.db<{ body: string }[]>`select body from auth.outbox order by id`;
  return rows
    .map(({ body }) => JSON.parse(body) as Event)
    .filter(({ data }) => data['identity_id'] === id);
};

describe('changing an identity', () => {
  const renameBody = { name: 'renamed' };
  const inheritBody = { inherit_permissions: true };
  const ends = { expires_at: '2100-01-01T00:00:00Z' };
  const changes: [by: CastName, body: UpdateIdentityBody, on: CastName, outcome: string][] = [
    ['ann', renameBody, 'bot', 'ok'],
    ['ann', { auto_call_on_approve: false }, 'subsub', 'ok'],
    ['ann', inheritBody, 'sub', 'ok'],
    ['ann', ends, 'bot', 'ok'],
    ['admin', renameBody, 'bot', 'ok'],
    ['bot', renameBody, 'sub', 'ok'],
    ['bot', renameBody, 'subsub', 'ok'],
    ['bot', inheritBody, 'sub', 'ok'],
    ['bot', ends, 'sub', 'ok'],
    // The bot may rename these two identities but may not extend their lifetime, because it did not
    // create them: `sub` created `subsub`, and Ann created `given`.
    ['bot', inheritBody, 'subsub', 'forbidden'],
    ['bot', inheritBody, 'given', 'forbidden'],
    ['bot', ends, 'given', 'forbidden'],
    ['bot', { expires_at: null }, 'given', 'forbidden'],
    ['bot', renameBody, 'bot', 'forbidden'],
    ['sub', renameBody, 'sub', 'forbidden'],
    ['sub', inheritBody, 'sub', 'forbidden'],
    ['sub', renameBody, 'bot', 'not_found'],
    ['sub', renameBody, 'given', 'not_found'],
    ['bob', renameBody, 'bot', 'not_found'],
    ['eve', renameBody, 'bot', 'not_found'],
    ['adminsBot', renameBody, 'bot', 'not_found'],
    ['auditor', renameBody, 'bot', 'forbidden'],
    ['ann', renameBody, 'ann', 'forbidden'],
    ['admin', renameBody, 'ann', 'forbidden'],
    ['ann', inheritBody, 'bot', 'invalid_params'],
    ['ann', { expires_at: '2020-01-01T00:00:00Z' }, 'bot', 'invalid_params'],
    ['ann', { name: 'given' }, 'sub', 'conflict'],
    ['ann', { name: 'Sub' }, 'sub', 'invalid_request'],
    ['ann', { name: 'org' }, 'sub', 'invalid_request'],
    ['ann', {}, 'sub', 'invalid_request'],
    ['ann', { parent_id: 'x' } as object, 'sub', 'invalid_request'],
  ];
  test.for(
    changes.map(
      ([by, body, on, outcome]) =>
        [titleNames[by], body, by === on ? 'itself' : titleNames[on], outcome, by, on] as const,
    ),
  )('by %s, who sends %j for %s, has the outcome %s', async ([, body, , outcome, by, on]) => {
    const cast = await createCast();

    expect(await outcomeCodeOf(update(cast[by], cast[on], body))).toBe(outcome);
    const changedEvents = (await eventsOf(cast[on].id)).filter(
      ({ type }) => type === 'identity.changed',
    );
    expect(changedEvents).toHaveLength(outcome === 'ok' ? 1 : 0);
  });

  test('leaves other fields unchanged, and emits the old and new values only when a value changed', async () => {
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

    const changedEvents = (await eventsOf(bot.id)).filter(
      ({ type }) => type === 'identity.changed',
    );
    expect(changedEvents).toMatchObject([
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

  test('succeeds for only one of eight siblings that get the same new name at once', async () => {
    const ann = await world.user({ name: 'ann', role: 'member' });
    const agents = [];
    for (let i = 0; i < 8; i += 1) agents.push(await world.agent(ann, `a${i}`));

    const outcomes = await Promise.all(
      agents.map((agent) => outcomeCodeOf(update(ann, agent, { name: 'same' }))),
    );

    expect(outcomes.toSorted()).toEqual([...Array(7).fill('conflict'), 'ok']);
  });

  test('shortens the principals of the identity and its descendants when it gets an expiry', async () => {
    const { ann, bot, sub } = await createCast();
    const ends = new Date(Date.now() + 6_000);
    await update(ann, bot, { expires_at: ends.toISOString() });
    for (const { token } of [bot, sub]) {
      const { claims } = await world.client.authenticate({ kind: 'bearer', token }, testDeadline());
      expect(claims.expiresAt).toBe(ends.getTime());
    }
    const { claims } = await world.client.authenticate(
      { kind: 'session', token: ann.token },
      testDeadline(),
    );
    expect(claims.expiresAt).toBeGreaterThan(ends.getTime());
  });

  test('lets the identity and its descendants act again when a past expiry is removed', async () => {
    const { ann, bot, sub } = await createCast();
    await world.db`update auth.identity set expires_at = now() where id = ${bot.id}`;
    await update(ann, sub, { auto_call_on_approve: false });

    expect([await authenticationOf(bot), await authenticationOf(sub)]).toEqual([
      'unauthenticated',
      'unauthenticated',
    ]);
    const chain = { orgId: bot.orgId, identityId: sub.id };
    expect(await world.approvalsClient.getChain(chain, testDeadline())).toMatchObject({
      active: false,
      standing: 'expired',
    });

    await update(ann, bot, { expires_at: null });
    expect([await authenticationOf(bot), await authenticationOf(sub)]).toEqual(['ok', 'ok']);
  });
});

describe('archiving an identity', () => {
  const archivings = withTitleNames([
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
  ]);
  test.for(archivings)(
    'by %s, with %s as the target, has the outcome %s',
    async ([, , outcome, by, on]) => {
      const cast = await createCast();

      expect(await outcomeCodeOf(archive(cast[by], cast[on]))).toBe(outcome);
      expect(await authenticationOf(cast[on])).toBe(outcome === 'ok' ? 'identity_archived' : 'ok');
    },
  );

  test('suspends the keys and sessions of the identity and its descendants until it is restored', async () => {
    const { admin, ann, bot, subsub } = await createCast();

    expect(await archive(admin, ann)).toMatchObject({ status: 'archived' });
    for (const each of [ann, bot, subsub])
      expect(await authenticationOf(each)).toBe('identity_archived');
    const chain = { orgId: ann.orgId, identityId: subsub.id };
    expect(await world.approvalsClient.getChain(chain, testDeadline())).toMatchObject({
      active: false,
      standing: 'archived',
    });

    expect(await restore(admin, ann)).toMatchObject({ status: 'active' });
    for (const each of [ann, bot, subsub]) expect(await authenticationOf(each)).toBe('ok');
  });

  test('happens to the agents of a user who becomes an auditor, and ends when the user gets the former role again', async () => {
    const { admin, ann, bot, subsub } = await createCast();
    const changeRoleOfAnn = (role: 'auditor' | 'member') =>
      world.client.changeUser(
        { principal: admin.principal, id: ann.id, body: { role }, context },
        testDeadline(),
      );
    const getStanding = async () =>
      (
        await world.approvalsClient.getChain(
          { orgId: ann.orgId, identityId: subsub.id },
          testDeadline(),
        )
      ).standing;

    await changeRoleOfAnn('auditor');
    for (const each of [bot, subsub])
      expect(await authenticationOf(each)).toBe('identity_archived');
    expect(await authenticationOf(ann)).toBe('ok');
    expect(await getStanding()).toBe('archived');
    const key = { principal: admin.principal, id: bot.id, body: { name: 'later' }, context };
    expect(await outcomeCodeOf(world.client.createAgentKey(key, testDeadline()))).toBe('conflict');

    await changeRoleOfAnn('member');
    for (const each of [bot, subsub]) expect(await authenticationOf(each)).toBe('ok');
    expect(await getStanding()).toBe('active');
  });

  test('is kept for a subagent when its agent is archived and restored', async () => {
    const { ann, bot, sub, subsub } = await createCast();
    await archive(ann, sub);
    await archive(ann, bot);
    await restore(ann, bot);

    expect([
      await authenticationOf(bot),
      await authenticationOf(sub),
      await authenticationOf(subsub),
    ]).toEqual(['ok', 'identity_archived', 'identity_archived']);
  });

  const restorations = withTitleNames(
    [
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
    ],
    'the same caller',
  );
  test.for(restorations)(
    'by %s can be undone by %s with the outcome %s',
    async ([, , outcome, archiver, restorer]) => {
      const cast = await createCast();
      // An identity cannot archive itself, so `subsub` archives a new child that it has created.
      const target =
        archiver === 'subsub' ? await world.subagent(cast.subsub, 'deep') : cast.subsub;
      await archive(cast[archiver], target);

      expect(await outcomeCodeOf(restore(cast[restorer], target))).toBe(outcome);
      expect(await authenticationOf(target)).toBe(outcome === 'ok' ? 'ok' : 'identity_archived');
    },
  );

  test('a second time changes who may restore it only if the second caller has a higher rank', async () => {
    const { admin, ann, bot, sub } = await createCast();
    await archive(bot, sub);
    await archive(admin, sub);
    await archive(ann, sub);

    expect(await outcomeCodeOf(restore(bot, sub))).toBe('forbidden');
    expect(await outcomeCodeOf(restore(ann, sub))).toBe('forbidden');
    expect(await outcomeCodeOf(restore(admin, sub))).toBe('ok');
    const changedEvents = (await eventsOf(sub.id)).filter(
      ({ type }) => type === 'identity.changed',
    );
    expect(changedEvents.map(({ audit }) => audit?.description)).toEqual([
      'ann / bot archived the subagent ann / bot / sub (status active → archived).',
      'root archived the subagent ann / bot / sub (again).',
      'root restored the subagent ann / bot / sub (status archived → active).',
    ]);
  });

  test('frees the name of an agent, which cannot be restored while another agent has the name', async () => {
    const { ann, bot } = await createCast();
    await archive(ann, bot);
    const next = await world.agent(ann, 'bot');

    expect(next.id).not.toBe(bot.id);
    expect(await outcomeCodeOf(restore(ann, bot))).toBe('conflict');
    await update(ann, bot, { name: 'old-bot' });
    expect(await restore(ann, bot)).toMatchObject({ status: 'active', name: 'old-bot' });
  });

  test('does not free the name of a user', async () => {
    const { admin, ann } = await createCast();
    await archive(admin, ann);

    await expect(
      world.user({ name: 'ann', role: 'member', orgId: ann.orgId }),
    ).rejects.toMatchObject({ code: '23505' });
    expect(await restore(admin, ann)).toMatchObject({ status: 'active', name: 'ann' });
  });

  test('is undone only once when several requests restore the agent or create agents with its name at once', async () => {
    const { ann, bot } = await createCast();
    await archive(ann, bot);
    const create = () =>
      world.client.createAgent(
        { principal: ann.principal, body: { name: 'bot' }, context },
        testDeadline(),
      );

    const outcomes = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        outcomeCodeOf(i % 2 === 0 ? restore(ann, bot) : create()),
      ),
    );

    const rows = await world.db`
      select id from auth.identity
       where parent_id = ${ann.id} and name = 'bot' and status = 'active'
    `;
    expect(rows).toHaveLength(1);
    expect(outcomes).toContain('ok');
    expect(outcomes).toContain('conflict');
  });

  test('does not prevent revoking the identity, which is final for the identity and its descendants', async () => {
    const { admin, ann, bot, sub } = await createCast();
    await archive(ann, sub);
    await revoke(ann, bot);

    for (const each of [bot, sub]) {
      expect(await outcomeCodeOf(restore(admin, each))).toBe('conflict');
      expect(await outcomeCodeOf(archive(admin, each))).toBe('conflict');
      expect(await outcomeCodeOf(update(admin, each, { name: 'new' }))).toBe('conflict');
      expect(await authenticationOf(each)).toBe('unauthenticated');
    }
  });

  test('while other requests restore and revoke the identity always leads to a revoked identity', async () => {
    const { ann, bot, sub } = await createCast();
    await Promise.all(
      Array.from({ length: 20 }, (_, i) =>
        outcomeCodeOf([archive, restore, revoke][i % 3]?.(ann, bot) ?? Promise.resolve()),
      ),
    );

    expect(await authenticationOf(sub)).toBe('unauthenticated');
    const { status } = await world.client.getIdentity(
      { principal: ann.principal, id: bot.id },
      testDeadline(),
    );
    expect(status).toBe('revoked');
  });

  test('succeeds for only one of two admins when they archive each other at once', async () => {
    const firstUser = await world.user({ name: 'one', role: 'admin' });
    const secondUser = await world.user({ name: 'two', role: 'admin', orgId: firstUser.orgId });

    const outcomes = await Promise.all([
      outcomeCodeOf(archive(firstUser, secondUser)),
      outcomeCodeOf(archive(secondUser, firstUser)),
    ]);

    expect(outcomes.toSorted()).toEqual(['forbidden', 'ok']);
  });
});
