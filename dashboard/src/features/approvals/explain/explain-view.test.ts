import { expect, test } from 'vitest';

import { anApproval } from '../fixtures.testing.ts';
import { reasonsOf } from './explain-view.ts';

const approval = anApproval({
  requester: { id: 'sub', kind: 'subagent', name: 'sub', path: ['Ann', 'bot', 'sub'] },
  may_resolve: ['ann', 'bot'],
});
const sentenceFor = (explanation: object) =>
  reasonsOf([{ key: 'k', effect: 'allow', ...explanation }], approval)[0]?.sentence;

test('the explanation lists the keys that make the call wait first', () => {
  const why = [
    { key: 'one', effect: 'allow', by: 'read' },
    { key: 'two', effect: 'gap' },
  ] as const;
  expect(reasonsOf(why, approval).map(({ key, isMissing }) => [key, isMissing])).toEqual([
    ['two', true],
    ['one', false],
  ]);
});

test.each([
  ['nothing allows it', { effect: 'gap' }, 'Nothing allows this yet, so a person is asked.'],
  ['it reads', { by: 'read' }, 'Allowed without asking, because it only reads.'],
  [
    'the requester has a rule',
    { by: 'rule', identity_id: 'sub' },
    'Already allowed by a rule for sub.',
  ],
  [
    'its agent has a rule',
    { by: 'rule', identity_id: 'bot' },
    'Already allowed by a rule for bot.',
  ],
  [
    'somebody unnamed has a rule',
    { by: 'rule', identity_id: 'x' },
    'Already allowed by a rule for somebody above it.',
  ],
  [
    'the org denies it',
    { effect: 'deny', by: 'rule' },
    'A rule for everybody in the organisation forbids this. Allowing it here will not make it run.',
  ],
  ['a person calls', { by: 'user' }, 'Already allowed.'],
])('a key is explained in a sentence if %s', (_, explanation, sentence) => {
  expect(sentenceFor(explanation)).toBe(sentence);
});

test('an identity is not named if the ancestors do not match the path', () => {
  const [reason] = reasonsOf([{ key: 'k', effect: 'allow', by: 'rule', identity_id: 'bot' }], {
    ...approval,
    may_resolve: ['bot'],
  });
  expect(reason?.sentence).toBe('Already allowed by a rule for somebody above it.');
});
