import { expect, test } from 'vitest';

import { compilePatterns } from './compiled-patterns.ts';

const createLongLiteral = (index: number) =>
  Array.from({ length: 4000 }, (_, at) => String.fromCharCode(0x4e00 + index + at)).join('');

test('policy compiles long patterns from earlier versions while other requests run', async () => {
  const storedPatterns = Array.from({ length: 100 }, (_, index) => ({
    pattern: `mail:send:*${createLongLiteral(index)}`,
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
  const patterns = await compilePatterns(storedPatterns);
  clearImmediate(next);

  expect(patterns).toHaveLength(100);
  expect(turns).toBeGreaterThan(5);
});

test('policy compiles the pattern of a rule once, however many chains the rule concerns', async () => {
  const storedPatterns = [
    { pattern: 'mail:send:*@evil.example', exact: false, effect: 'deny' as const },
    { pattern: 'mail:send:*@evil.example', exact: true, effect: 'allow' as const },
  ];
  const [first, exact] = await compilePatterns(storedPatterns);
  const [again] = await compilePatterns(storedPatterns);

  expect(again).toBe(first);
  expect(exact?.exact).toBe(true);
});
