import { describe, expect, test } from 'vitest';

import { createIdentity, createRule } from './fixtures.testing.ts';
import { makerOf, permissionsOf } from './permission-view.ts';

const ann = createIdentity('ann');
const bot = createIdentity('ann/bot');
const rules = [
  createRule('org-allow'),
  createRule('org-deny', { effect: 'deny' }),
  createRule('ann-allow', { identity_id: 'ann' }),
  createRule('ann-deny', { identity_id: 'ann', effect: 'deny' }),
  createRule('bot-allow', { identity_id: 'bot' }),
  createRule('helper-allow', { identity_id: 'helper' }),
  createRule('stranger-allow', { identity_id: 'stranger' }),
];
const idsOf = (permissions: ReturnType<typeof permissionsOf>['allows']) =>
  permissions.map(({ rule, place, holderName }) => `${rule.id} ${place} ${holderName}`);

describe('the rules that reach an agent', () => {
  test('are its own, those of its user and those of the org', () => {
    const { allows, denies } = permissionsOf([bot, ann], rules);
    expect(idsOf(allows)).toEqual([
      'bot-allow own bot',
      'ann-allow above ann',
      'org-allow org null',
    ]);
    expect(idsOf(denies)).toEqual(['ann-deny above ann', 'org-deny org null']);
  });

  test('are for a subagent that inherits also those of its agent', () => {
    const helper = createIdentity('ann/bot/helper', { inherit_permissions: true });
    const { allows } = permissionsOf([helper, bot, ann], rules);
    expect(idsOf(allows).slice(0, 3)).toEqual([
      'helper-allow own helper',
      'ann-allow above ann',
      'bot-allow above bot',
    ]);
  });

  test('are for any other subagent only its own, those of the org, and every deny above it', () => {
    const helper = createIdentity('ann/bot/helper');
    const { allows, denies } = permissionsOf([helper, bot, ann], rules);
    expect(idsOf(allows)).toEqual(['helper-allow own helper', 'org-allow org null']);
    expect(idsOf(denies)).toEqual(['ann-deny above ann', 'org-deny org null']);
  });
});

test('names who made a rule as far as it is known', () => {
  expect(makerOf(createRule('a'), {}, ann)).toBe('You');
  expect(makerOf(createRule('a', { created_by: 'bob' }), { bob: 'bob' }, ann)).toBe('bob');
  expect(makerOf(createRule('a', { created_by: 'eve' }), {}, ann)).toBe('Somebody else');
});
