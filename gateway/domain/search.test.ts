import { expect, test } from 'vitest';

import { search } from './search.ts';

const actions = [
  ['create_issue', 'Open a new issue'],
  ['list_issues', 'List the issues of a repository'],
  ['merge_pull_request', 'Merge a pull request'],
  ['sendMail', 'Send a message to somebody'],
  ['delete_label', 'Delete a label from a repository'],
].map(([name = '', summary = '']) => ({
  item: name,
  fields: [
    { text: name, weight: 1 },
    { text: summary, weight: 0.8 },
  ],
}));
const best = (query: string) => search(actions, query)[0]?.item;

test.for([
  ['create issue', 'create_issue'],
  ['CREATE_ISSUE', 'create_issue'],
  ['add an issue', 'create_issue'],
  ['list issue', 'list_issues'],
  ['pull req', 'merge_pull_request'],
  ['send mail', 'sendMail'],
  ['remove label', 'delete_label'],
  ['', undefined],
  ['--- !!!', undefined],
  ['quantum', undefined],
])('%j finds %s first', ([query = '', expected]) => {
  expect(best(query)).toBe(expected);
});

test('scores are between 0 and 1, best first, and equal ones stay in their order', () => {
  const found = search(actions, 'issue repository');
  const scores = found.map(({ score }) => score);
  expect(scores).toEqual(scores.toSorted((one, other) => other - one));
  expect(scores.every((score) => score > 0 && score <= 1)).toBe(true);
  expect(search(actions, 'issues').map(({ item }) => item)).toEqual([
    'create_issue',
    'list_issues',
  ]);
});

test('words in other scripts are words', () => {
  const items = [{ item: 'a', fields: [{ text: 'Größe ändern', weight: 1 }] }];
  expect(search(items, 'größe')).toEqual([{ item: 'a', score: 1 }]);
});
