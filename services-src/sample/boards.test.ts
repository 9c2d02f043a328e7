import { expect, test } from 'vitest';

import { createBoards } from './boards.ts';

const note = { board: 'kitchen', text: 'Milk is out' };

test('a board keeps its notes when another program sends more keys than the server has room for', () => {
  const boards = createBoards();
  boards.of('mine').pin(note);
  const madeUpKeys = Array.from({ length: 250 }, (_, index) => `made-up-${index}`);
  for (const key of madeUpKeys) boards.of(key).list();
  for (const key of madeUpKeys) boards.of(key).pin(note);

  expect(boards.of('mine').list()).toMatchObject([{ id: 1, text: 'Milk is out' }]);
  expect(boards.of('mine').pin(note)).toMatchObject({ id: 2 });
  expect(boards.of('yet-another').pin(note)).toBeUndefined();
  expect(boards.of('yet-another').list()).toEqual([]);
});

test('keys that only read notes take no room', () => {
  const boards = createBoards();
  for (let index = 0; index < 250; index += 1) boards.of(`made-up-${index}`).list();
  expect(boards.of('mine').pin(note)).toMatchObject({ id: 1 });
});

test('the first two notes of a key are both kept when they arrive together', () => {
  const boards = createBoards();
  const [first, second] = [boards.of('mine'), boards.of('mine')];
  first.pin(note);
  second.pin(note);
  expect(boards.of('mine').list()).toMatchObject([{ id: 1 }, { id: 2 }]);
});
