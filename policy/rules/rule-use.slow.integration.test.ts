import { v7 as newId } from 'uuid';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';

import {
  connectGithub,
  createIssue,
  createPolicyWorld,
  listIssues,
  testDeadline,
} from '../world.testing.ts';
import type { TestIdentity, PolicyWorld } from '../world.testing.ts';

let world: PolicyWorld;
let ann: TestIdentity;
let bot: TestIdentity;

beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
});
beforeEach(async () => {
  ann = world.user('ann', { orgId: newId() });
  bot = world.below(ann, 'bot');
  world.neighbours.services.length = 0;
  connectGithub(world, ann);
  await world.settle();
});

const listRules = async () =>
  (
    await world.gateway.listRules(
      {
        principal: world.sign(ann),
        identityId: null,
        effect: null,
        createdBy: null,
        approvalId: null,
        service: null,
        scope: null,
        page: { limit: 50, cursor: null },
      },
      testDeadline(),
    )
  ).items;

describe('the number of uses of a rule', () => {
  test('is stored by every replica when policy stops', async () => {
    const rule = await world.rule(ann, bot, 'allow github:*:*');
    await using replica = await world.startReplica();
    await Promise.all(Array.from({ length: 20 }, () => world.decide(bot, createIssue)));
    await world.decide(bot, listIssues);
    await replica[Symbol.asyncDispose]();

    const countUses = async () => {
      return (await listRules()).find(({ id }) => id === rule.id)?.use_count ?? 0;
    };
    // The other replica stores its counts within ten seconds.
    await expect.poll(countUses, { interval: 250 }).toBe(21);
    const [counted] = await listRules();
    expect(counted?.last_used_at).not.toBeNull();
    expect(counted?.used).toEqual({ count: 21, last_at: counted?.last_used_at });
  });

  test('counts the calls that a deny rule refused, and is null for a rule that decided no call', async () => {
    await world.rule(ann, bot, 'deny github:issues.create:*');
    await world.rule(ann, bot, 'allow github:issues.list:*');
    await using replica = await world.startReplica();
    for (let count = 0; count < 8; count += 1) await world.decide(bot, createIssue);
    await replica[Symbol.asyncDispose]();

    const useOf = async () => (await listRules()).map(({ used }) => used?.count ?? null);
    await expect.poll(useOf, { interval: 250 }).toEqual([null, 8]);
  });
});
