import { expect, test } from 'vitest';

import { describeOutcome, describeWalk } from './why-view.ts';

const names = new Map([['bot', 'deploy-bot']]);
const rule = { pattern: 'github:create_issue:*' };
const rules = new Map([['r1', rule]]);
const key = 'github:create_issue:acme/site';

test('each step of the permission walk is described in words', () => {
  const steps = describeWalk(
    [
      { key, effect: 'allow', by: 'rule', rule_id: 'r1', identity_id: 'bot' },
      { key, effect: 'allow', by: 'rule', rule_id: 'r2' },
      { key, effect: 'deny', by: 'rule', rule_id: 'r3', identity_id: 'hidden' },
      { key, effect: 'allow', by: 'read' },
      { key, effect: 'allow', by: 'user' },
      { key, effect: 'gap' },
    ],
    { names, rules },
  );
  expect(steps.map(({ words }) => words)).toEqual([
    'A permission of deploy-bot allows it.',
    'A permission for everybody in the organisation allows it.',
    'A rule of somebody whom you may not see refuses it.',
    'It only reads, and reads of this service run at once.',
    'A person makes the call, and needs no permission for it.',
    'Nothing allows this yet, so a person is asked.',
  ]);
  expect(steps.map((step) => step.rule)).toEqual([rule, null, null, null, null, null]);
});

test('the outcome contains the people who could allow the call', () => {
  const grantors = ['ann', 'bo', 'ann'].map((name) => ({ id: name, kind: 'user', name }));
  expect(describeOutcome({ outcome: 'would_require_approval', grantors }).words).toBe(
    'It would wait for an approval. ann or bo can give it.',
  );
  expect(describeOutcome({ outcome: 'would_require_approval', grantors: [] }).words).toBe(
    'It would wait for an approval.',
  );
  const reason = 'A deny rule refuses it.';
  expect(describeOutcome({ outcome: 'denied', reason, grantors: [] })).toEqual({
    tone: 'bad',
    words: 'It would be refused, and nobody asked. A deny rule refuses it.',
  });
  expect(describeOutcome({ outcome: 'allowed', grantors: [] }).tone).toBe('good');
});
