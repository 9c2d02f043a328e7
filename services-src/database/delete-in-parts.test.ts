import { expect, test } from 'vitest';

import { deleteInParts } from './delete-in-parts.ts';

/** A table with this many old rows. It records how many rows each part has deleted. */
function createTable(rows: number) {
  let rowsLeft = rows;
  const parts: number[] = [];
  return {
    parts,
    countRows: () => rowsLeft,
    deletePart: async (limit: number) => {
      const deleted = Math.min(limit, rowsLeft);
      rowsLeft -= deleted;
      parts.push(deleted);
      return deleted;
    },
  };
}

test('rows are deleted in parts until a part is not full', async () => {
  const table = createTable(25);
  await deleteInParts(table.deletePart, 10);
  expect(table.parts).toEqual([10, 10, 5]);
});

test('one run ends after 100 parts, and the next one deletes the rest', async () => {
  const table = createTable(105);
  await deleteInParts(table.deletePart, 1);
  expect(table.countRows()).toBe(5);
  await deleteInParts(table.deletePart, 1);
  expect(table.countRows()).toBe(0);
});
