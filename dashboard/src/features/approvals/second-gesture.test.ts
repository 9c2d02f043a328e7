import { describe, expect, test } from 'vitest';

import { anApproval } from './fixtures.testing.ts';
import { needsSecondGesture, questionParts, yesWords } from './second-gesture.ts';

const question = (differences: Parameters<typeof anApproval>[0]) =>
  questionParts(anApproval(differences))
    .map(({ text, isStrong }) => (isStrong ? `*${text}*` : text))
    .join('');

describe('a second gesture', () => {
  test.for([
    ['low', false],
    ['med', false],
    ['high', true],
  ] as const)('is asked for at risk %s: %j', ([risk, expected]) => {
    expect(needsSecondGesture(anApproval({ risk }))).toBe(expected);
  });

  test('is asked for where not all of the request can be shown', () => {
    const { request } = anApproval();
    expect(needsSecondGesture(anApproval({ request: { ...request, too_large: true } }))).toBe(true);
  });
});

describe('its question', () => {
  test('names what it is done to', () => {
    expect(
      question({
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
  ])('of "%s" is set off where it is a whole name', ([sentence, value, expected]) => {
    const disclosed = [{ label: 'Name', value, truncated: false }];
    expect(question({ action_description: sentence, disclosed })).toBe(expected);
  });

  test('of a direct request sets off where it goes', () => {
    expect(
      question({
        service: 'http',
        action: 'DELETE',
        action_description: 'DELETE api.example.com/v1/notes/1',
        disclosed: [],
      }),
    ).toBe('DELETE *api.example.com/v1/notes/1*?');
  });
});

describe('its answer', () => {
  test.for<[sentence: string, risk: 'low' | 'high', expected: string]>([
    ['Delete label p1', 'high', 'Yes, delete'],
    ['DELETE api.example.com/v1', 'high', 'Yes, delete'],
    ['Remove ann from the team', 'high', 'Yes, remove'],
    ['Decline the invitation', 'high', 'Yes, allow it'],
    ['No more calls to anybody', 'high', 'Yes, allow it'],
    ['constructor', 'high', 'Yes, allow it'],
    ['Delete is what this note says', 'low', 'Yes, allow it'],
  ])('to "%s" repeats a verb that cannot be mistaken: %s', ([sentence, risk, expected]) => {
    expect(yesWords(anApproval({ action_description: sentence, risk }), false)).toBe(expected);
  });

  test('says that it will be remembered', () => {
    const approval = anApproval({ action_description: 'Delete label p1', risk: 'high' });
    expect(yesWords(approval, true)).toBe('Yes, delete and remember');
  });
});
