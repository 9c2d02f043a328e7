import { describe, expect, test } from 'vitest';

import { isFiltered, readFilter, toApiQuery, toSearch } from './list-filter.ts';

const agent = '0199c0de-0000-7000-8000-00000000000c';

describe('the filter of the list of approvals', () => {
  test('is read from the address, and gives the same address again', () => {
    for (const search of [
      {},
      { show: 'decided' },
      { q: 'sign in & out', agent, service: 'org/github', risk: 'high', sort: 'newest' },
      { show: 'decided', sort: 'oldest' },
    ]) {
      const address = toSearch(readFilter(search));
      expect(Object.fromEntries(new URLSearchParams(address))).toEqual(search);
    }
  });

  test('ignores or shortens values that the API would refuse', () => {
    const filter = readFilter({
      q: `\0${'x'.repeat(900)}`,
      agent: 'nobody',
      service: 's'.repeat(100),
      risk: 'none',
      sort: 'sideways',
    });
    expect(filter).toMatchObject({ requester: '', risk: '', sort: 'oldest' });
    expect(filter.q.length).toBeLessThanOrEqual(200);
    expect(filter.service).toHaveLength(67);
  });

  test('becomes an API query that sorts the oldest first, unless decided approvals are shown', () => {
    expect(toApiQuery(readFilter({}), { assigned: 'me' })).toBe(
      '?status=open&sort=oldest&assigned=me&limit=50',
    );
    expect(toApiQuery(readFilter({ show: 'decided', q: ' a ' }), { cursor: 'c' })).toBe(
      '?status=decided&q=a&sort=newest&limit=50&cursor=c',
    );
  });

  test('counts as set if it leaves approvals out', () => {
    expect(isFiltered(readFilter({ show: 'decided', sort: 'oldest' }))).toBe(false);
    expect(isFiltered(readFilter({ risk: 'low' }))).toBe(true);
  });
});
