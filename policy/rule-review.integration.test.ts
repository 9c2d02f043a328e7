import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createPolicyWorld, soon } from './world.testing.ts';
import type { PolicyWorld } from './world.testing.ts';
import { tellReviewedRules } from './usecases/tell-reviewed-rules.ts';

let world: PolicyWorld;
beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

test('an upgrade tells once of each deny rule that means something else now', async () => {
  const ann = world.user();
  const bot = world.below(ann, 'bot');
  const expected: Record<string, string | undefined> = {
    'deny http:ANY:api.example.com/**': 'reaches_actions',
    'deny secret:token:*': 'reaches_actions',
    'deny connection:*:api.example.com': 'reaches_actions',
    'deny github:issues.create:acme/site': 'folds_argument',
    'deny *:issues.create:acme/*': 'folds_argument',
    'deny github:issues.create:*': 'spares_neighbours',
    'deny http:*:*': undefined,
    'deny http:ANY:*.example.com/**': undefined,
    'deny http:GET:*.example.com/Repos/acme': 'folds_argument',
    'deny http:DELETE:*/repos/**': 'folds_argument',
    'deny http:ANY:**/admin/*': 'folds_argument',
    'deny http:POST:**': undefined,
    'deny secret:*:*': undefined,
    'deny *:*:*': undefined,
    'allow github:issues.create:acme/site': undefined,
  };
  const ids = new Map<string, string>();
  for (const rule of Object.keys(expected)) ids.set((await world.rule(ann, bot, rule)).id, rule);
  const gone = await world.rule(ann, bot, 'deny github:repos.delete:acme/site');
  await world.gateway.deleteRule({ principal: world.sign(ann), id: gone.id }, soon());

  // As on an installation that has these rules and gets these migrations.
  for (const name of ['0003_rule_review', '0006_rule_review_hosts']) {
    const file = new URL(`migrations/${name}.sql`, import.meta.url);
    const sql = await readFile(file, 'utf8');
    await world.db.unsafe(sql.slice(sql.search(/^(?:with live|insert into)/m)));
  }

  const everyRule = {
    principal: world.sign(ann),
    identityId: bot.id,
    effect: null,
    createdBy: null,
    approvalId: null,
    page: { limit: 100, cursor: null },
  };
  const listed = await world.gateway.listRules(everyRule, soon());
  const reviewed = listed.items.filter(({ review }) => review !== undefined);
  expect(reviewed.map(({ id }) => ids.get(id) ?? '').toSorted()).toEqual(
    Object.keys(expected)
      .filter((rule) => expected[rule] !== undefined)
      .toSorted(),
  );
  expect(reviewed.find(({ pattern }) => pattern === 'secret:token:*')?.review).toMatch(
    /now also refuses actions/,
  );
  // Whoever agrees with what it means now makes it again, and deletes the old one.
  const [first] = reviewed;
  const again = await world.rule(ann, bot, `deny ${first?.pattern}`);
  await world.gateway.deleteRule({ principal: world.sign(ann), id: first?.id ?? '' }, soon());
  const left = await world.gateway.listRules(everyRule, soon());
  expect(left.items.find(({ id }) => id === again.id)).not.toHaveProperty('review');
  expect(left.items.filter(({ review }) => review !== undefined)).toHaveLength(reviewed.length - 1);

  const told: Record<string, string> = {};
  const logger = {
    warn: ({ ruleId, change }: { ruleId: string; change: string }) => {
      told[ids.get(ruleId) ?? 'the deleted one'] = change;
    },
  };
  await tellReviewedRules({ db: world.db, logger: logger as never });
  const meant = Object.entries(expected).filter(([, change]) => change !== undefined);
  expect(told).toEqual(Object.fromEntries(meant));

  for (const rule of Object.keys(told)) delete told[rule];
  await tellReviewedRules({ db: world.db, logger: logger as never });
  expect(told).toEqual({});
});
