import { expect, test } from 'vitest';

import type { Rule } from '#contracts/http/rules';
import type { Deps } from '../deps.ts';
import { findRulesThatStop } from './rules-that-stop.ts';

type Upgraded = Parameters<typeof findRulesThatStop>[1];
const caller = { principal: 'signed', deadline: { remainingMs: () => 1_000 } } as never;

const upgradeOf = (changed: object[], removed: string[] = [], tier = 'user') =>
  ({
    service: { name: 'shop', tier },
    difference: { actions: { added: [], removed, changed } },
  }) as unknown as Upgraded;
const reshapedAction = {
  action: 'order',
  parts: ['permission'],
  scope: { from: [], to: ['customer'] },
};

/**
 * A stand-in for policy that returns rules with these patterns on the service, in pages of the
 * requested size.
 */
function policyWith(patterns: readonly string[]) {
  const services: string[] = [];
  const listRules = async ({
    service,
    page,
  }: {
    service: string;
    page: { limit: number; cursor: string | null };
  }) => {
    services.push(service);
    const start = Number(page.cursor ?? 0);
    const end = start + page.limit;
    const items = patterns.slice(start, end).map((pattern) => ({ pattern }) as Rule);
    return { items, next_cursor: end < patterns.length ? String(end) : null };
  };
  return { services, policy: { listRules } as unknown as Deps['policy'] };
}

test('an upgrade that gives an action arguments stops the exact rule for the action’s former only key', async () => {
  const pattern = 'shop:order:*';
  const items = [true, false].map((exact) => ({ pattern, exact }) as Rule);
  const listRules = async () => ({ items, next_cursor: null });
  const deps = { policy: { listRules } as unknown as Deps['policy'] };
  const exactRules = async (upgraded: Upgraded) =>
    (await findRulesThatStop(deps, upgraded, caller))?.map(({ exact }) => exact);
  expect(await exactRules(upgradeOf([reshapedAction]))).toEqual([true]);
  const scope = { from: ['project'], to: ['customer'] };
  expect(await exactRules(upgradeOf([{ ...reshapedAction, scope }]))).toEqual([]);
});

const findStoppedPatterns = async (patterns: readonly string[], upgraded: Upgraded) =>
  (await findRulesThatStop(policyWith(patterns), upgraded, caller))?.map(({ pattern }) => pattern);

test('an upgrade that changes the form of an action’s permission keys stops rules for its arguments', async () => {
  const patterns = ['shop:order:acme', 'shop:order:*', 'shop:*:acme', 'shop:*:*', 'shop:list:acme'];
  expect(await findStoppedPatterns(patterns, upgradeOf([reshapedAction]))).toEqual([
    'shop:order:acme',
    'shop:*:acme',
  ]);
});

test('an upgrade that removes an action stops every rule for this action, and no other rule', async () => {
  const patterns = ['shop:order:*', 'shop:order:a:b', 'shop:list:*'];
  expect(await findStoppedPatterns(patterns, upgradeOf([], ['order']))).toEqual([
    'shop:order:*',
    'shop:order:a:b',
  ]);
});

test('for an upgrade that changes no permission keys, no rules are read', async () => {
  const policy = policyWith(['shop:order:acme']);
  const describedUpgrade = upgradeOf([{ action: 'order', parts: ['description'] }]);
  expect(await findRulesThatStop(policy, describedUpgrade, caller)).toEqual([]);
  expect(policy.services).toEqual([]);
});

test('the rules on a service of the org are looked up under its name with the prefix org/', async () => {
  const policy = policyWith(['org/shop:order:acme']);
  await findRulesThatStop(policy, upgradeOf([reshapedAction], [], 'org'), caller);
  expect(policy.services).toEqual(['org/shop']);
});

const manyRules = (count: number, action: string) =>
  Array.from({ length: count }, (_, index) => `shop:${action}:${index}`);

test('the list of stopped rules has at most 100 rules', async () => {
  expect(await findStoppedPatterns(manyRules(130, 'order'), upgradeOf([reshapedAction]))).toEqual(
    manyRules(100, 'order'),
  );
});

test('the list of stopped rules is made from the newest 1,000 rules on the service', async () => {
  const patternsWithStoppedLast = (count: number) => [
    ...manyRules(count, 'list'),
    'shop:order:acme',
  ];
  expect(
    await findStoppedPatterns(patternsWithStoppedLast(999), upgradeOf([reshapedAction])),
  ).toEqual(['shop:order:acme']);

  const policy = policyWith(patternsWithStoppedLast(2_000));
  expect(await findRulesThatStop(policy, upgradeOf([reshapedAction]), caller)).toEqual([]);
  expect(policy.services).toHaveLength(5);
});

test('the list of stopped rules is left out if policy does not answer', async () => {
  const listRules = () => Promise.reject(new Error('down'));
  const deps = { policy: { listRules } as unknown as Deps['policy'] };
  expect(await findRulesThatStop(deps, upgradeOf([reshapedAction]), caller)).toBeUndefined();
});
