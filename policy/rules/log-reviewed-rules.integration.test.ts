import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { createPolicyWorld, testDeadline } from '../world.testing.ts';
import type { PolicyWorld } from '../world.testing.ts';
import { logReviewedRules } from './log-reviewed-rules.ts';

let world: PolicyWorld;
beforeAll(async () => {
  world = await createPolicyWorld();
});
afterAll(() => world[Symbol.asyncDispose]());

test.for<[names: string[], expected: Record<string, string | undefined>, sentence: RegExp]>([
  [
    ['0003_rule_review', '0006_rule_review_hosts'],
    {
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
    },
    /now also refuses actions/,
  ],
  [
    ['0009_rule_review_spellings'],
    {
      'deny http:ANY:api.example.com/**': undefined,
      'deny http:ANY:api.example.com/notes/1': 'compares_one_spelling',
      'deny http:*:*': undefined,
      'deny secret:token:*': undefined,
      'deny github:issues.create:acme/site': 'compares_one_spelling',
      'deny *:issues.create:acme/*': 'compares_one_spelling',
      'deny github:issues.create:*': 'spares_other_services',
      'deny *:*:*': undefined,
      'allow github:issues.create:acme/site': undefined,
    },
    /no longer refuses actions of other services/,
  ],
])(
  'an upgrade of the gateway (%j) logs once each deny rule whose meaning changes',
  async ([names, expectedByPattern, sentence]) => {
    const ann = world.user();
    const bot = world.below(ann, 'bot');
    const ids = new Map<string, string>();
    for (const rule of Object.keys(expectedByPattern))
      ids.set((await world.rule(ann, bot, rule)).id, rule);
    const deletedRule = await world.rule(ann, bot, 'deny github:repos.delete:acme/site');
    await world.gateway.deleteRule(
      { principal: world.sign(ann), id: deletedRule.id },
      testDeadline(),
    );

    // Runs the migrations again, as an upgrade of an installation with these rules would do.
    for (const name of names) {
      const file = new URL(`../migrations/${name}.sql`, import.meta.url);
      const sql = await readFile(file, 'utf8');
      await world.db.unsafe(sql.slice(sql.search(/^(?:with live|insert into)/m)));
    }

    const allRulesRequest = {
      principal: world.sign(ann),
      identityId: bot.id,
      effect: null,
      createdBy: null,
      approvalId: null,
      service: null,
      scope: null,
      page: { limit: 100, cursor: null },
    };
    const listedRules = await world.gateway.listRules(allRulesRequest, testDeadline());
    const rulesToReview = listedRules.items.filter(({ review }) => review !== undefined);
    expect(rulesToReview.map(({ id }) => ids.get(id) ?? '').toSorted()).toEqual(
      Object.keys(expectedByPattern)
        .filter((rule) => expectedByPattern[rule] !== undefined)
        .toSorted(),
    );
    expect(rulesToReview.map(({ review }) => review)).toContainEqual(
      expect.stringMatching(sentence),
    );
    // A person accepts the new meaning by creating the rule again and deleting the old one.
    const [first] = rulesToReview;
    const secondDeny = await world.rule(ann, bot, `deny ${first?.pattern}`);
    await world.gateway.deleteRule(
      { principal: world.sign(ann), id: first?.id ?? '' },
      testDeadline(),
    );
    const remainingRules = await world.gateway.listRules(allRulesRequest, testDeadline());
    expect(remainingRules.items.find(({ id }) => id === secondDeny.id)).not.toHaveProperty(
      'review',
    );
    expect(remainingRules.items.filter(({ review }) => review !== undefined)).toHaveLength(
      rulesToReview.length - 1,
    );

    const loggedChanges: Record<string, string> = {};
    const logger = {
      warn: ({ ruleId, change }: { ruleId: string; change: string }) => {
        // The log also contains rules of other tests.
        const rule = ruleId === deletedRule.id ? 'the deleted one' : ids.get(ruleId);
        if (rule !== undefined) loggedChanges[rule] = change;
      },
    };
    await logReviewedRules({ db: world.db, logger: logger as never });
    const expectedChanges = Object.entries(expectedByPattern).filter(
      ([, change]) => change !== undefined,
    );
    expect(loggedChanges).toEqual(Object.fromEntries(expectedChanges));

    for (const rule of Object.keys(loggedChanges)) delete loggedChanges[rule];
    await logReviewedRules({ db: world.db, logger: logger as never });
    expect(loggedChanges).toEqual({});
  },
);
