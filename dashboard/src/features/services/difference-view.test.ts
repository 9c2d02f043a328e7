import { expect, test } from 'vitest';

import { describeDifference, differingLines } from './difference-view.ts';

const noChanges = { added: [], removed: [] };

test('the description of a difference begins with the dangerous changes', () => {
  const lines = describeDifference({
    actions: {
      added: ['pin'],
      removed: ['list'],
      changed: [
        {
          action: 'create',
          parts: ['parameters', 'permission'],
          scope: { from: [], to: ['project', 'type'] },
        },
      ],
    },
    hosts: { added: ['evil.example'], removed: [] },
    base_url: null,
    auth: { ...noChanges, changed: [], combinations: false },
  });
  expect(lines.map(({ text }) => text)).toEqual([
    'Goes to the host evil.example too',
    'Action list is gone',
    'Action create: parameters, risk or permission; permissions name project and type instead of nothing',
    'Action pin is new',
  ]);
});

test('the description is empty for equal versions', () => {
  const empty = { actions: { ...noChanges, changed: [] }, hosts: noChanges, base_url: null };
  const auth = { ...noChanges, changed: [], combinations: false };
  expect(describeDifference({ ...empty, auth })).toEqual([]);
});

const markedLines = (before: string, after: string) =>
  differingLines(before, after).map(({ mark, text }) => mark + text);

test('the differing lines of two texts are shown with two equal lines before and after', () => {
  expect(markedLines('1\n2\n3\nold\n5\n6\n7', '1\n2\n3\nnew\n5\n6\n7')).toEqual([
    ' 2',
    ' 3',
    '-old',
    '+new',
    ' 5',
    ' 6',
  ]);
  expect(markedLines('a', 'a\nb')).toEqual([' a', '+b']);
  expect(markedLines('a\na', 'a')).toEqual([' a', '-a']);
});
