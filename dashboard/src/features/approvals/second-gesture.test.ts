import { describe, expect, test } from 'vitest';

import { anApproval } from './fixtures.testing.ts';
import { needsSecondGesture, splitQuestion, confirmLabelOf } from './second-gesture.ts';

const questionOf = (differences: Parameters<typeof anApproval>[0]) =>
  splitQuestion(anApproval(differences))
    .map(({ text, isEmphasised: isStrong }) => (isStrong ? `*${text}*` : text))
    .join('');

describe('a second click to confirm', () => {
  test.for([
    ['low', false],
    ['med', false],
    ['high', true],
  ] as const)('is needed at the risk %s: %j', ([risk, expected]) => {
    expect(needsSecondGesture(anApproval({ risk }))).toBe(expected);
  });

  test('is needed when the request cannot be shown whole', () => {
    const { request } = anApproval();
    expect(needsSecondGesture(anApproval({ request: { ...request, too_large: true } }))).toBe(true);
  });
});

describe('the question of the confirmation', () => {
  test('highlights each disclosed value that the description contains', () => {
    expect(
      questionOf({
        action_description: 'Delete label p1 of acme/site',
        disclosed: [
          { label: 'Label', value: 'p1', truncated: false },
          { label: 'Repository', value: 'acme/site', truncated: false },
        ],
      }),
    ).toBe('Delete label *p1* of *acme/site*?');
  });

  test.for<[sentence: string, value: string, expected: string]>([
    ['Delete site of acme/site', 'acme/site', 'Delete site of *acme/site*?'],
    ['Delete bar in embargo', 'bar', 'Delete *bar* in embargo?'],
    ['Delete a', 'a', 'Delete a?'],
    ['Delete everything.', 'x'.repeat(300), 'Delete everything?'],
    ['', 'acme', '?'],
  ])(
    'for "%s" highlights the value "$1" only where it is a whole name: "$2"',
    ([sentence, value, expected]) => {
      const disclosed = [{ label: 'Name', value, truncated: false }];
      expect(questionOf({ action_description: sentence, disclosed })).toBe(expected);
    },
  );

  test('highlights the destination of a request to a full URL', () => {
    expect(
      questionOf({
        service: 'http',
        action: 'DELETE',
        action_description: 'DELETE api.example.com/v1/notes/1',
        disclosed: [],
      }),
    ).toBe('DELETE *api.example.com/v1/notes/1*?');
  });

  test('shows the query of a request to a full URL, and only the beginning of a long query', () => {
    const questionFor = (query: string) =>
      questionOf({
        service: 'http',
        action: 'DELETE',
        action_description: 'DELETE api.example.com/v1/notes/1',
        disclosed: [],
        request: { ...anApproval().request, url: `https://api.example.com/v1/notes/1?${query}` },
      });
    expect(questionFor('cascade=true')).toBe('DELETE *api.example.com/v1/notes/1?cascade=true*?');
    expect(questionFor('a'.repeat(201))).toContain(`${'a'.repeat(200)}…`);
  });
});

describe('the label of the button that confirms', () => {
  test.for<[sentence: string, risk: 'low' | 'high', expected: string]>([
    ['Delete label p1', 'high', 'Yes, delete'],
    ['DELETE api.example.com/v1', 'high', 'Yes, delete'],
    ['Remove ann from the team', 'high', 'Yes, remove'],
    ['Decline the invitation', 'high', 'Yes, allow it'],
    ['No more calls to anybody', 'high', 'Yes, allow it'],
    ['constructor', 'high', 'Yes, allow it'],
    ['Delete is what this note says', 'low', 'Yes, allow it'],
  ])('for "%s" at the risk $1 is "$2"', ([sentence, risk, expected]) => {
    expect(confirmLabelOf(anApproval({ action_description: sentence, risk }), false)).toBe(
      expected,
    );
  });

  test('mentions that the decision will be remembered', () => {
    const approval = anApproval({ action_description: 'Delete label p1', risk: 'high' });
    expect(confirmLabelOf(approval, true)).toBe('Yes, delete and remember');
  });
});
