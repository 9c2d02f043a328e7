import { expect, test } from 'vitest';

import {
  readActivityFilter,
  toActivitySearch,
  toAuditQuery,
  typeChoices,
} from './activity-filter.ts';

const agent = '019a0c1e-5d0b-7c3f-9d0e-0c6f7d1f2a3b';
const person = '019a0c1e-5d0b-7c3f-9d0e-0c6f7d1f2a3c';

test('the address of the page contains the filters that are set, and no others', () => {
  const search = {
    q: ' note ',
    agent,
    user_id: person,
    type: 'rule.created',
    service: 'org/github',
    outcome: 'denied',
    days: '7',
  };
  const filter = readActivityFilter(search);

  expect(Object.fromEntries(new URLSearchParams(toActivitySearch(filter)))).toEqual({
    ...search,
    q: 'note',
  });
  expect(toActivitySearch(readActivityFilter({}))).toBe('');
  expect(
    Object.fromEntries(new URLSearchParams(toAuditQuery(filter, { cursor: null, nowMs: 0 }))),
  ).toEqual({
    text: 'note',
    identity_id: agent,
    user_id: person,
    type: 'rule.created',
    service: 'org/github',
    outcome: 'denied',
    since: '1969-12-25T00:00:00.000Z',
    limit: '100',
  });
});

test('filter values in the address that the API does not know are ignored', () => {
  const filter = readActivityFilter({
    q: ['a', 'b'],
    agent: "' or 1=1",
    user_id: 'everybody',
    type: 'rule.painted',
    service: 'x\0'.repeat(300),
    outcome: 'everything',
    risk: 'high',
    days: '-1',
  });

  expect(filter).toEqual({
    q: '',
    agent: '',
    user_id: '',
    type: '',
    service: 'x'.repeat(100),
    outcome: '',
    risk: '',
    days: '',
  });
});

test('the types of records have readable labels', () => {
  expect(typeChoices.slice(0, 2)).toEqual([
    ['', 'Anything'],
    ['action.denied', 'Action denied'],
  ]);
  expect(typeChoices).toContainEqual(['mcp_connection.changed', 'MCP connection changed']);
});
