import { describe, expect, test } from 'vitest';

import { handleInGroups } from './handle-in-groups.ts';

function createHandler({ itemsMax = 10, sizeMax = 100, separates = false, aloneMax = 1 } = {}) {
  const groups: (readonly string[])[] = [];
  const handle = handleInGroups({
    handle: async (group: readonly string[]) => {
      groups.push(group);
      await new Promise((resolve) => setImmediate(resolve));
      if (group.includes('bad')) throw new Error(`refused: ${group.join()}`);
      return group.map((item) => item.toUpperCase());
    },
    sizeOf: (item) => item.length,
    sizeMax: () => sizeMax,
    itemsMax,
    aloneMax,
    separatesAfter: () => separates,
  });
  return { groups, handle };
}

describe('items that are handled in groups', () => {
  test('form one group when they arrive while another one is handled, and each gets its own result', async () => {
    const { groups, handle } = createHandler();
    expect(await Promise.all(['a', 'b', 'c'].map(handle))).toEqual(['A', 'B', 'C']);
    expect(await handle('d')).toBe('D');
    expect(groups).toEqual([['a'], ['b', 'c'], ['d']]);
  });

  test('are handled alone while few are, and in a group once more of them wait', async () => {
    const { groups, handle } = createHandler({ aloneMax: 2 });
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map(handle));
    await Promise.all(['f', 'g'].map(handle));
    expect(groups).toEqual([['a'], ['b'], ['c', 'd', 'e'], ['f'], ['g']]);
  });

  test('form groups within the limits, and an item that is too large a group of its own', async () => {
    const { groups, handle } = createHandler({ itemsMax: 2, sizeMax: 4 });
    await Promise.all(['a', 'b', 'c', 'd', 'longer', 'ee', 'ff', 'g'].map(handle));
    expect(groups).toEqual([['a'], ['b', 'c'], ['d'], ['longer'], ['ee', 'ff'], ['g']]);
  });

  test('fail together, or alone where that is wanted, and later items are handled', async () => {
    for (const separates of [false, true]) {
      const { handle } = createHandler({ separates });
      const results = await Promise.allSettled(['a', 'b', 'bad', 'c'].map(handle));
      const neighbours = separates ? 'fulfilled' : 'rejected';
      expect(results.map(({ status }) => status)).toEqual([
        'fulfilled',
        neighbours,
        'rejected',
        neighbours,
      ]);
      expect(await handle('d')).toBe('D');
    }
  });
});
