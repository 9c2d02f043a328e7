import { describe, expect, test } from 'vitest';

import { deadlineIn } from '#bus';
import { AppError } from '#errors';
import { listPeople, withDisplayNames, withDisplayNamesOnPage } from './display-names.ts';

const reader = { principal: 'signed', deadline: deadlineIn(1_000) };
const bot = { id: 'bot', kind: 'agent', name: 'bot', path: ['ann', 'bot'] } as const;
const requester = { ...bot, path: [...bot.path] };
const bob = { id: 'bob', kind: 'user' as const, name: 'bob', path: ['bob'] };

function authWith(names: Record<string, string>) {
  const askedIds: string[][] = [];
  return {
    askedIds,
    listDisplayNames: async ({ ids }: { ids: string[] }) => {
      askedIds.push(ids);
      const knownNames = ids.flatMap((id) => (names[id] ? [{ id, displayName: names[id] }] : []));
      return { names: knownNames };
    },
  };
}

describe('the display names of people', () => {
  test('are added to every identity that an answer shows, and replace nothing', async () => {
    const auth = authWith({ bot: 'Ann Berg', bob: 'Bob Dahl' });
    const shown = { id: '1', requester, resolved_by: bob, also_asked_by: [requester, bob] };

    expect(await withDisplayNames(auth, reader, Promise.resolve(shown))).toEqual({
      id: '1',
      requester: { ...requester, display_name: 'Ann Berg' },
      resolved_by: { ...bob, display_name: 'Bob Dahl' },
      also_asked_by: [
        { ...requester, display_name: 'Ann Berg' },
        { ...bob, display_name: 'Bob Dahl' },
      ],
    });
  });

  test('are read once for a whole page, which is otherwise unchanged', async () => {
    const auth = authWith({ bot: 'Ann Berg' });
    const items = [
      { requester, decided_by: null },
      { requester: bob, decided_by: bob },
    ];
    const page = Promise.resolve({ items, next_cursor: 'next' });

    expect(await withDisplayNamesOnPage(auth, reader, page)).toEqual({
      items: [
        { requester: { ...requester, display_name: 'Ann Berg' }, decided_by: null },
        items[1],
      ],
      next_cursor: 'next',
    });
    expect(auth.askedIds).toEqual([['bot', 'bob']]);
  });

  test('are left out if they cannot be read, and the answer is sent without them', async () => {
    const auth = {
      listDisplayNames: () => Promise.reject(new AppError('unavailable', 'auth does not answer')),
    };

    const shown = await withDisplayNames(auth, reader, Promise.resolve({ requester }));

    expect(shown).toEqual({ requester });
    expect(await listPeople(auth, reader, [{ user_id: 'bob' }])).toEqual({});
  });

  test('are listed beside audit records and not in them, because hashes cover the records', async () => {
    const auth = authWith({ bob: 'Bob Dahl' });
    const records = [{ user_id: 'bob' }, { user_id: null }, { user_id: 'bob' }, { user_id: 'ann' }];

    expect(await listPeople(auth, reader, records)).toEqual({
      people: [{ user_id: 'bob', display_name: 'Bob Dahl' }],
    });
  });
});
