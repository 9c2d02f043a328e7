import { describe, expect, test } from 'vitest';

import { FairQueue } from './fair-queue.ts';

interface Job {
  readonly owner: string;
  readonly identity?: string;
  readonly n: number;
}

function queueOf(owners: string, limits: Partial<ConstructorParameters<typeof FairQueue>[0]> = {}) {
  const queue = new FairQueue<Job>({
    runningMaxPerOwner: 1,
    waitingMax: 100,
    waitingMaxPerOwner: 50,
    ...limits,
  });
  for (const [n, owner] of owners.split('').entries()) queue.add({ owner, n });
  return queue;
}

/**
 * Runs `threads` jobs at a time, always ending the oldest job first. Returns the owners in the
 * order in which their jobs started.
 */
function ownersInOrder(queue: FairQueue<Job>, threads: number): string {
  const running: Job[] = [];
  let owners = '';
  for (;;) {
    const job = queue.takeNext(running);
    if (job !== undefined) {
      running.push(job);
      owners += job.owner;
    }
    if (job === undefined || running.length === threads) {
      if (running.shift() === undefined) return owners;
    }
  }
}

describe('a fair queue', () => {
  test('takes the jobs of one owner in the order in which they came', () => {
    const queue = queueOf('aaa', { runningMaxPerOwner: 3 });
    const takenNumbers = [1, 2, 3].map(() => queue.takeNext([])?.n);
    expect([...takenNumbers, queue.takeNext([])]).toEqual([0, 1, 2, undefined]);
  });

  test('lets owners take turns: the owner that comes last waits for one job of each other owner', () => {
    expect(ownersInOrder(queueOf('aaaaabc'), 1)).toBe('abcaaaa');
    expect(ownersInOrder(queueOf('aaaabbbb'), 1)).toBe('abababab');
  });

  test('lets the identities of an owner take turns, and counts their jobs as the owner’s', () => {
    const queue = queueOf('');
    for (const [owner, identity, n] of [
      ['u', 'a', 1],
      ['u', 'a', 2],
      ['u', 'a', 3],
      ['v', 'u', 4],
      ['u', 'b', 5],
      ['u', 'u', 6],
    ] as const) {
      queue.add({ owner, identity, n });
    }
    const takenNumbers = Array.from({ length: 6 }, () => queue.takeNext([])?.n);
    expect(takenNumbers).toEqual([1, 4, 5, 6, 2, 3]);
    queue.add({ owner: 'u', identity: 'c', n: 7 });
    expect(queue.takeNext([{ owner: 'u', identity: 'a' }])).toBeUndefined();
  });

  test('prefers the identity with the fewest running jobs', () => {
    const queue = queueOf('', { runningMaxPerOwner: 3 });
    queue.add({ owner: 'u', identity: 'a', n: 1 });
    queue.add({ owner: 'u', identity: 'b', n: 2 });
    expect(queue.takeNext([{ owner: 'u', identity: 'a' }])?.n).toBe(2);
  });

  test('leaves room for the other identities of an owner', () => {
    const queue = queueOf('', { waitingMax: 80, waitingMaxPerOwner: 20 });
    const fillFor = (identity: string) => {
      let count = 0;
      for (; queue.hasRoomFor('u', identity); count += 1) queue.add({ owner: 'u', identity, n: 0 });
      return count;
    };
    expect(fillFor('greedy')).toBe(16);
    expect(fillFor('second')).toBeGreaterThan(0);
    expect(queue.hasRoomFor('u', 'third')).toBe(true);
  });

  test('keeps one worker free for owners without running jobs', () => {
    const queue = queueOf('aaa');
    const first = queue.takeNext([]);
    expect(queue.takeNext([first!])).toBeUndefined();
    expect(queue.countReady([first!])).toBe(0);
    queue.add({ owner: 'b', n: 9 });
    expect(queue.countReady([first!])).toBe(1);
    expect(queue.takeNext([first!])).toEqual({ owner: 'b', n: 9 });
  });

  test('prefers the owner with the fewest running jobs', () => {
    const queue = queueOf('ab', { runningMaxPerOwner: 3 });
    expect(queue.takeNext([{ owner: 'a' }])?.owner).toBe('b');
  });

  test('refuses further jobs of one owner before it refuses jobs of all owners', () => {
    const queue = queueOf('aa', { waitingMax: 4, waitingMaxPerOwner: 2 });
    expect([queue.hasRoomFor('a'), queue.hasRoomFor('b')]).toEqual([false, true]);
    queue.add({ owner: 'b', n: 2 });
    queue.add({ owner: 'b', n: 3 });
    expect(queue.hasRoomFor('c')).toBe(false);
  });

  test('does not run a removed job, and runs an interrupted job next', () => {
    const queue = queueOf('ab');
    const first = queue.takeNext([])!;
    queue.addFirst(first);
    queue.add({ owner: 'a', n: 2 });
    queue.remove(queue.takeNext([])!);
    expect(queue.takeNext([])).toBe(first);
    expect(queue.removeAll()).toEqual([{ owner: 'a', n: 2 }]);
    expect(queue.length).toBe(0);
  });
});
