import { describe, expect, test } from 'vitest';

import { Turns } from './turns.ts';

interface Job {
  readonly owner: string;
  readonly n: number;
}

function turnsOf(owners: string, limits: Partial<ConstructorParameters<typeof Turns>[0]> = {}) {
  const turns = new Turns<Job>({
    runningMaxPerOwner: 1,
    waitingMax: 100,
    waitingMaxPerOwner: 50,
    ...limits,
  });
  for (const [n, owner] of owners.split('').entries()) turns.add({ owner, n });
  return turns;
}

/** Runs `threads` jobs at a time, the oldest of which ends each time; owners in the order they began. */
function order(turns: Turns<Job>, threads: number): string {
  const running: Job[] = [];
  let begun = '';
  for (;;) {
    const job = turns.takeNext(running);
    if (job !== undefined) {
      running.push(job);
      begun += job.owner;
    }
    if (job === undefined || running.length === threads) {
      if (running.shift() === undefined) return begun;
    }
  }
}

describe('turns', () => {
  test('of one owner are in the order in which they came', () => {
    const turns = turnsOf('aaa', { runningMaxPerOwner: 3 });
    const took = [1, 2, 3].map(() => turns.takeNext([])?.n);
    expect([...took, turns.takeNext([])]).toEqual([0, 1, 2, undefined]);
  });

  test('are shared out: who came last waits for one job of each, not for all of the first', () => {
    expect(order(turnsOf('aaaaabc'), 1)).toBe('abcaaaa');
    expect(order(turnsOf('aaaabbbb'), 1)).toBe('abababab');
  });

  test('leave a thread free of an owner that fills the others', () => {
    const turns = turnsOf('aaa');
    const first = turns.takeNext([]);
    expect(turns.takeNext([first!])).toBeUndefined();
    expect(turns.countReady([first!])).toBe(0);
    turns.add({ owner: 'b', n: 9 });
    expect(turns.countReady([first!])).toBe(1);
    expect(turns.takeNext([first!])).toEqual({ owner: 'b', n: 9 });
  });

  test('go first to who has the least under way', () => {
    const turns = turnsOf('ab', { runningMaxPerOwner: 3 });
    expect(turns.takeNext([{ owner: 'a' }])?.owner).toBe('b');
  });

  test('run out for one owner before they do for all', () => {
    const turns = turnsOf('aa', { waitingMax: 4, waitingMaxPerOwner: 2 });
    expect([turns.hasRoomFor('a'), turns.hasRoomFor('b')]).toEqual([false, true]);
    turns.add({ owner: 'b', n: 2 });
    turns.add({ owner: 'b', n: 3 });
    expect(turns.hasRoomFor('c')).toBe(false);
  });

  test('forget what is removed, and begin again with what was interrupted', () => {
    const turns = turnsOf('ab');
    const first = turns.takeNext([])!;
    turns.addFirst(first);
    turns.add({ owner: 'a', n: 2 });
    turns.remove(turns.takeNext([])!);
    expect(turns.takeNext([])).toBe(first);
    expect(turns.removeAll()).toEqual([{ owner: 'a', n: 2 }]);
    expect(turns.length).toBe(0);
  });
});
