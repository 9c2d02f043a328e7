import { expect, test } from 'vitest';

import { compilePatterns } from './compiled-patterns.ts';

const longest = (index: number) =>
  Array.from({ length: 4000 }, (_, at) => String.fromCharCode(0x4e00 + index + at)).join('');

test('rules of earlier versions, long and of any characters, are made ready without holding up others', async () => {
  const stored = Array.from({ length: 100 }, (_, index) => ({
    pattern: `mail:send:*${longest(index)}`,
    exact: false,
    effect: 'deny' as const,
  }));
  let turns = 0;
  let next: NodeJS.Immediate;
  const takeTurn = () => {
    turns += 1;
    next = setImmediate(takeTurn);
  };
  next = setImmediate(takeTurn);
  const patterns = await compilePatterns(stored);
  clearImmediate(next);

  expect(patterns).toHaveLength(100);
  expect(turns).toBeGreaterThan(5);
});

test('a pattern is made ready once, however many chains it holds for', async () => {
  const stored = [
    { pattern: 'mail:send:*@evil.example', exact: false, effect: 'deny' as const },
    { pattern: 'mail:send:*@evil.example', exact: true, effect: 'allow' as const },
  ];
  const [first, exact] = await compilePatterns(stored);
  const [again] = await compilePatterns(stored);

  expect(again).toBe(first);
  expect(exact?.exact).toBe(true);
});
