import { expect, test } from 'vitest';

import { findNearestAction } from './nearest-action.ts';

const keys = ['list_comments', 'delete_comment', 'create_comment', 'issues.list', 'me'];

test.for<[name: string, expected: string | undefined]>([
  ['create_coment', 'create_comment'],
  ['add_comment', 'create_comment'],
  ['find_comments', 'list_comments'],
  ['List_Comments', 'list_comments'],
  ['send_mail', undefined],
  ['everything', undefined],
])('for the unknown action name %s, the suggested action is %s', ([name, expected]) => {
  expect(findNearestAction(name, keys)).toBe(expected);
});
