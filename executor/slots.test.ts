import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { callerLevels } from '#shares';
import type { CallerIds } from '#shares';
import type { Slot } from './deps.ts';
import { createSlots } from './slots.ts';

const busy = { code: 'unavailable', details: { component: 'executor', busy: true } };
const overShare = {
  code: 'rate_limited',
  details: { component: 'executor', busy: true, retry_after: 5 },
};
const slow = 'https://slow.example';
const caller: CallerIds = { orgId: 'org', userId: 'user', identityId: 'agent' };
/** Each call is of another org, so that only the share of the upstream can refuse it. */
let strangers = 0;
const stranger = (): CallerIds => ({ ...caller, orgId: `org-${(strangers += 1)}` });
const percents = { SHARE_ORG_PERCENT: 80, SHARE_USER_PERCENT: 80, SHARE_IDENTITY_PERCENT: 80 };

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function start(max: number) {
  const slots = createSlots({ max, levels: callerLevels(percents) });
  /** As a call does: takes its place, then its slot, and gives back its place when there is none. */
  const go = async (url: string, timeoutMs?: number, by = stranger()): Promise<Slot> => {
    const slot = slots.take(by);
    try {
      await slot.enterUpstream(url, timeoutMs);
      return slot;
    } catch (error) {
      slot[Symbol.dispose]();
      throw error;
    }
  };
  /** A call that waits; what became of it is told by `state`. */
  const wait = (url: string, timeoutMs = 10_000, by = stranger()) => {
    const waiting: { state: 'waiting' | 'entered' | 'refused'; slot?: Slot; error?: unknown } = {
      state: 'waiting',
    };
    go(url, timeoutMs, by).then(
      (slot) => Object.assign(waiting, { state: 'entered', slot }),
      (error: unknown) => Object.assign(waiting, { state: 'refused', error }),
    );
    return waiting;
  };
  const fill = async (origin: string): Promise<Slot[]> => {
    const held: Slot[] = [];
    for (;;) {
      try {
        held.push(await go(`${origin}/a`));
      } catch (error) {
        expect(error).toMatchObject(busy);
        return held;
      }
    }
  };
  return { slots, go, wait, fill };
}

const end = (slot: Slot | undefined) => slot?.[Symbol.dispose]();
const settled = () => vi.advanceTimersByTimeAsync(0);
const states = (waiting: readonly { state: string }[]) => waiting.map(({ state }) => state);

describe('slots', () => {
  test('are all there for many origins, and no more', async () => {
    const { go, fill } = start(64);
    const held = await fill(slow);
    for (let n = held.length; n < 64; n += 1) await go(`https://up${n}.example/`);

    await expect(go('https://other.example/')).rejects.toMatchObject(busy);
  });

  test('of one origin leave a tenth to the others', async () => {
    const { go, fill } = start(64);

    expect(await fill(slow)).toHaveLength(58);
    await go('https://quick.example/');
    await expect(go(`${slow}/other`)).rejects.toMatchObject(busy);
  });

  test('are not all taken by two slow origins either', async () => {
    const { go, fill } = start(64);

    expect(await fill(slow)).toHaveLength(58);
    expect(await fill('https://slower.example')).toHaveLength(2);
    await go('https://quick.example/');
  });

  test('come back', async () => {
    const { go, fill } = start(64);
    const held = await fill(slow);
    end(held.pop());
    end(held.pop());

    await go(`${slow}/`);
    await go(`${slow}/`);
    await expect(go(`${slow}/`)).rejects.toMatchObject(busy);
  });

  test('that are few are not reserved', async () => {
    expect(await start(4).fill(slow)).toHaveLength(4);
  });
});

describe('a call that may wait', () => {
  test('gets the slot that comes free, after those that came before it', async () => {
    const { wait, fill } = start(64);
    const held = await fill(slow);
    const waiting = [wait(slow), wait(slow)];
    await settled();
    expect(states(waiting)).toEqual(['waiting', 'waiting']);

    end(held.pop());
    await settled();
    expect(states(waiting)).toEqual(['entered', 'waiting']);
    end(waiting[0]?.slot);
    await settled();
    expect(states(waiting)).toEqual(['entered', 'entered']);
  });

  test('is not overtaken by one that comes as the slot is freed', async () => {
    const { go, wait, fill } = start(64);
    const held = await fill(slow);
    const first = wait(slow);
    end(held.pop());

    await expect(go(slow)).rejects.toMatchObject(busy);
    expect(first.state).toBe('entered');
  });

  test('is refused after half a second, however much time it has, and leaves nothing behind', async () => {
    const { go, wait, fill } = start(64);
    const held = await fill(slow);
    const waiting = wait(slow, 110_000);
    await vi.advanceTimersByTimeAsync(499);
    expect(waiting.state).toBe('waiting');
    await vi.advanceTimersByTimeAsync(1);
    expect(waiting).toMatchObject({ state: 'refused', error: busy });

    end(held.pop());
    await go(slow);
    await expect(go(slow)).rejects.toMatchObject(busy);
  });

  test('waits for no more than a quarter of its time', async () => {
    const { wait, fill } = start(64);
    await fill(slow);
    const waiting = wait(slow, 400);
    await vi.advanceTimersByTimeAsync(100);

    expect(waiting.state).toBe('refused');
  });

  test('holds no slot: another upstream gets the ones that are left', async () => {
    const { go, wait, fill } = start(64);
    await fill(slow);
    const waiting: ReturnType<typeof wait>[] = [];
    for (let n = 0; n < 40; n += 1) {
      waiting.push(wait(slow));
      await settled();
    }
    for (let n = 0; n < 6; n += 1) await go(`https://up${n}.example/`);

    // Half of the places to wait are for one upstream; with all slots taken, others wait beside it.
    expect(states(waiting).filter((state) => state === 'waiting')).toHaveLength(16);
    const other = wait('https://other.example/');
    await settled();
    expect(other.state).toBe('waiting');
  });

  test('of an upstream that holds few goes first into what is reserved for it', async () => {
    const { go, wait, fill } = start(64);
    await fill(slow);
    const others: Slot[] = [];
    for (let n = 0; n < 6; n += 1) others.push(await go(`https://up${n}.example/`));
    const early = wait(slow);
    const late = wait('https://other.example/');
    end(others.pop());
    await settled();

    expect(states([early, late])).toEqual(['waiting', 'entered']);
  });

  test('is one of a bounded number, whatever they wait for', async () => {
    const { go, wait } = start(64);
    for (let n = 0; n < 64; n += 1) await go(`https://up${n}.example/`);
    const waiting: ReturnType<typeof wait>[] = [];
    for (let n = 0; n < 200; n += 1) {
      waiting.push(wait(`https://more${n}.example/`));
      await settled();
    }

    expect(states(waiting).filter((state) => state === 'waiting')).toHaveLength(32);
  });

  test('is let go at once by an executor that stops, and no other waits after it', async () => {
    const { slots, go, wait, fill } = start(64);
    const held = await fill(slow);
    const waiting = wait(slow);
    slots.stopWaiting();
    await settled();
    expect(waiting).toMatchObject({ state: 'refused', error: busy });

    await expect(go(slow, 10_000)).rejects.toMatchObject(busy);
    // Requests that were sent before it stopped listening still find the slots that are free.
    end(held.pop());
    await go(slow, 10_000);
  });
});

test('calls of which nobody knows yet where they go are bounded too', () => {
  const { slots } = start(64);
  for (let n = 0; n < 128; n += 1) slots.take(stranger());

  expect(() => slots.take(stranger())).toThrow(expect.objectContaining(busy));
});

describe('callers whose calls hang', () => {
  /** As many calls as there are slots, and more, of each, to upstreams of their own. */
  const hang = async ({ go }: ReturnType<typeof start>, hogs: readonly CallerIds[]) => {
    const held: Slot[] = [];
    for (let n = 0; n < 300; n += 1) {
      for (const [at, hog] of hogs.entries()) {
        try {
          held.push(await go(`https://hangs-${at}-${n % 9}.example/`, 0, hog));
        } catch (error) {
          expect(error).toMatchObject(overShare);
        }
      }
    }
    return held;
  };
  const ofUser = (name: string) => ({ ...caller, userId: name, identityId: `agent of ${name}` });

  test('hold half of the slots, and are told that it is their own calls that stand in the way', async () => {
    const started = start(256);

    expect(await hang(started, [caller])).toHaveLength(129);
    expect(started.slots.isBusy()).toBe(false);
    await expect(started.go('https://hangs-0-0.example/', 0, caller)).rejects.toMatchObject(
      overShare,
    );
  });

  test('leave slots to the calls of the same caller to other upstreams', async () => {
    const { go } = start(256);
    let held = 0;
    await expect(async () => {
      for (; held < 256; held += 1) await go(slow, 0, caller);
    }).rejects.toMatchObject(overShare);

    expect(held).toBe(117);
    for (let n = 0; n < 10; n += 1) await go(`https://up${n}.example/`, 0, caller);
  });

  test('leave slots at once to another agent of their user, to another user, and to another org', async () => {
    const started = start(256);
    await hang(started, [caller]);
    const others = [
      { ...caller, identityId: 'another' },
      ofUser('another'),
      { orgId: 'another', userId: 'u', identityId: 'i' },
    ];

    for (let n = 0; n < 8; n += 1) {
      for (const other of others) await started.go('https://quick.example/', 0, other);
    }
  });

  test('who are ten agents of one org leave a fifth of the slots to the other orgs', async () => {
    const started = start(256);
    await hang(
      started,
      Array.from({ length: 10 }, (_, n) => ofUser(`user-${n}`)),
    );

    for (let n = 0; n < 25; n += 1) {
      await started.go('https://quick.example/', 0, { ...caller, orgId: 'another' });
    }
    expect(started.slots.isBusy()).toBe(false);
  });

  test('get no slot that somebody waits for who holds fewer', async () => {
    const { go, wait } = start(64);
    const held: Slot[] = [];
    const hogs = Array.from({ length: 9 }, (_, n) => ({ ...caller, orgId: `org-${n}` }));
    for (let n = 0; n < 64; n += 1) {
      for (const hog of hogs)
        await go(`https://h${n}.example/`, 0, hog).then(
          (slot) => held.push(slot),
          () => null,
        );
    }
    for (let n = 0; ; n += 1) {
      const slot = await go(`https://n${n}.example/`, 0, { ...caller, orgId: `new-${n}` }).catch(
        () => null,
      );
      if (slot === null) break;
    }
    const early = wait('https://a.example/', 10_000, hogs[0]);
    await settled();
    const late = wait('https://b.example/', 10_000, { ...caller, orgId: 'late' });
    await settled();
    expect(states([early, late])).toEqual(['waiting', 'waiting']);

    end(held.pop());
    await settled();
    expect(states([early, late])).toEqual(['waiting', 'entered']);
  });

  test('do not fill the places to wait either', async () => {
    const { go, wait } = start(64);
    for (let n = 0; n < 64; n += 1) {
      await go(`https://up${n}.example/`, 0, { ...caller, orgId: `org-${n}` });
    }
    const hog = Array.from({ length: 60 }, (_, n) =>
      wait(`https://hog${n}.example/`, 10_000, caller),
    );
    await settled();
    const other = wait('https://other.example/', 10_000, ofUser('another'));
    await settled();

    expect(hog.filter(({ state }) => state === 'waiting').length).toBeLessThan(20);
    expect(other.state).toBe('waiting');
  });

  test('do not fill the hands of the executor with calls that are still being prepared', () => {
    const { slots } = start(64);
    let taken = 0;
    expect(() => {
      for (; taken < 128; taken += 1) slots.take(caller);
    }).toThrow(expect.objectContaining(overShare));

    expect(taken).toBeLessThan(70);
    slots.take(ofUser('another'));
  });
});

test('an executor that had no slot for anybody is busy for ten seconds', async () => {
  const { slots, go, fill } = start(64);
  expect(slots.isBusy()).toBe(false);
  const held = await fill(slow);
  expect(slots.isBusy()).toBe(true);
  for (const slot of held) end(slot);
  expect(slots.isBusy()).toBe(true);

  await vi.advanceTimersByTimeAsync(10_000);
  expect(slots.isBusy()).toBe(false);
  await go(slow);
});
