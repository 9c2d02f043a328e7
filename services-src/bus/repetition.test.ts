import { expect, test } from 'vitest';

import { createRepetitionBudget } from './repetition.ts';

function createClock() {
  let ms = 0;
  return { now: () => ms, pass: (passedMs: number) => (ms += passedMs) };
}

function countSpendable(budget: ReturnType<typeof createRepetitionBudget>): number {
  let count = 0;
  while (budget.spend()) count += 1;
  return count;
}

test('a full budget allows 200 repetitions, as many as a dead replica may have held requests', () => {
  expect(countSpendable(createRepetitionBudget(createClock().now))).toBe(200);
});

test('a used-up budget allows one more repetition for every ten requests', () => {
  const budget = createRepetitionBudget(createClock().now);
  countSpendable(budget);

  for (let request = 0; request < 1_005; request += 1) budget.count();

  expect(countSpendable(budget)).toBe(100);
});

test('a used-up budget allows one more repetition for every second that passes, up to its limit', () => {
  const clock = createClock();
  const budget = createRepetitionBudget(clock.now);
  countSpendable(budget);

  clock.pass(5_500);
  expect(countSpendable(budget)).toBe(5);

  clock.pass(3_600_000);
  expect(countSpendable(budget)).toBe(200);
});
