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

describe('the rules that apply to an agent', () => {
  test('are the rules of the agent, of its user and of the org', () => {
    const { allows, denies } = permissionsOf([bot, ann], rules);
    expect(idsOf(allows)).toEqual([
      'bot-allow own bot',
      'ann-allow above ann',
      'org-allow org null',
    ]);
    expect(idsOf(denies)).toEqual(['ann-deny above ann', 'org-deny org null']);
  });

  test('also include those of the agent above, for a subagent that inherits', () => {
    const helperAgent = createIdentity('ann/bot/helper', { inherit_permissions: true });
    const { allows } = permissionsOf([helperAgent, bot, ann], rules);
    expect(idsOf(allows).slice(0, 3)).toEqual([
      'helper-allow own helper',
      'ann-allow above ann',
      'bot-allow above bot',
    ]);
  });

  test('are its own rules, those of the org and every deny above, for a subagent that does not inherit', () => {
    const helperAgent = createIdentity('ann/bot/helper');
    const { allows, denies } = permissionsOf([helperAgent, bot, ann], rules);
    expect(idsOf(allows)).toEqual(['helper-allow own helper', 'org-allow org null']);
    expect(idsOf(denies)).toEqual(['ann-deny above ann', 'org-deny org null']);
  });
});

test('the maker of a rule is shown by name if the name is known', () => {
  expect(makerOf(createRule('a'), {}, ann)).toBe('You');
  expect(makerOf(createRule('a', { created_by: 'bob' }), { bob: 'bob' }, ann)).toBe('bob');
  expect(makerOf(createRule('a', { created_by: 'eve' }), {}, ann)).toBe('Somebody else');
});
