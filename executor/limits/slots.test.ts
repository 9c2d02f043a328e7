import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import { callerLevels } from '#shares';
import type { CallerIds } from '#shares';
import type { Slot } from '../deps.ts';
import { createSlots } from './slots.ts';

const busyError = { code: 'unavailable', details: { component: 'executor', busy: true } };
const overShareError = {
  code: 'rate_limited',
  details: { component: 'executor', busy: true, retry_after: 5 },
};
const slow = 'https://slow.example';
const caller: CallerIds = { orgId: 'org', userId: 'user', identityId: 'agent' };
/**
 * Gives each call its own org, so that a call can only be refused because of its upstream's share.
 */
let strangersCount = 0;
const createStranger = (): CallerIds => ({ ...caller, orgId: `org-${(strangersCount += 1)}` });
const percents = { SHARE_ORG_PERCENT: 80, SHARE_USER_PERCENT: 80, SHARE_IDENTITY_PERCENT: 80 };

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

function startSlots(max: number) {
  const slots = createSlots({ max, levels: callerLevels(percents) });
  /**
   * Does the same as a call: is admitted, takes a slot, and gives up its admission if it gets no
   * slot.
   */
  const go = async (url: string, timeoutMs?: number, by = createStranger()): Promise<Slot> => {
    const slot = slots.take(by);
    try {
      await slot.enterUpstream(url, timeoutMs);
      return slot;
    } catch (error) {
      slot[Symbol.dispose]();
      throw error;
    }
  };
  /** Starts a call that may wait for a slot. `state` is how the wait ended. */
  const wait = (url: string, timeoutMs = 10_000, by = createStranger()) => {
    const waiting: { state: 'waiting' | 'entered' | 'refused'; slot?: Slot; error?: unknown } = {
      state: 'waiting',
    };
    go(url, timeoutMs, by).then(
      (slot) => Object.assign(waiting, { state: 'entered', slot }),
      (error: unknown) => Object.assign(waiting, { state: 'refused', error }),
    );
    return waiting;
  };
  const fillSlots = async (origin: string): Promise<Slot[]> => {
    const heldSlots: Slot[] = [];
    for (;;) {
      try {
        heldSlots.push(await go(`${origin}/a`));
      } catch (error) {
        expect(error).toMatchObject(busyError);
        return heldSlots;
      }
    }
  };
  return { slots, go, wait, fillSlots };
}

const endCall = (slot: Slot | undefined) => slot?.[Symbol.dispose]();
const letSettle = () => vi.advanceTimersByTimeAsync(0);
const statesOf = (waiting: readonly { state: string }[]) => waiting.map(({ state }) => state);

describe('the slots for calls under way', () => {
  test('can all be used by calls to many upstreams together', async () => {
    const { go, fillSlots } = startSlots(64);
    const heldSlots = await fillSlots(slow);
    for (let n = heldSlots.length; n < 64; n += 1) await go(`https://up${n}.example/`);

    await expect(go('https://other.example/')).rejects.toMatchObject(busyError);
  });

  test('can be used by one upstream, except for a tenth that stays free for other upstreams', async () => {
    const { go, fillSlots } = startSlots(64);

    expect(await fillSlots(slow)).toHaveLength(58);
    await go('https://quick.example/');
    await expect(go(`${slow}/other`)).rejects.toMatchObject(busyError);
  });

  test('are not used up by two slow origins', async () => {
    const { go, fillSlots } = startSlots(64);

    expect(await fillSlots(slow)).toHaveLength(58);
    expect(await fillSlots('https://slower.example')).toHaveLength(2);
    await go('https://quick.example/');
  });

  test('are free again when calls end', async () => {
    const { go, fillSlots } = startSlots(64);
    const heldSlots = await fillSlots(slow);
    endCall(heldSlots.pop());
    endCall(heldSlots.pop());

    await go(`${slow}/`);
    await go(`${slow}/`);
    await expect(go(`${slow}/`)).rejects.toMatchObject(busyError);
  });

  test('are not reserved for other upstreams when the executor has only a few slots', async () => {
    expect(await startSlots(4).fillSlots(slow)).toHaveLength(4);
  });
});

describe('a call that may wait for a slot', () => {
  test('gets a free slot after calls that came earlier', async () => {
    const { wait, fillSlots } = startSlots(64);
    const heldSlots = await fillSlots(slow);
    const waiting = [wait(slow), wait(slow)];
    await letSettle();
    expect(statesOf(waiting)).toEqual(['waiting', 'waiting']);

    endCall(heldSlots.pop());
    await letSettle();
    expect(statesOf(waiting)).toEqual(['entered', 'waiting']);
    endCall(waiting[0]?.slot);
    await letSettle();
    expect(statesOf(waiting)).toEqual(['entered', 'entered']);
  });

  test('is not overtaken by a call that arrives when a slot becomes free', async () => {
    const { go, wait, fillSlots } = startSlots(64);
    const heldSlots = await fillSlots(slow);
    const first = wait(slow);
    endCall(heldSlots.pop());

    await expect(go(slow)).rejects.toMatchObject(busyError);
    expect(first.state).toBe('entered');
  });

  test('is refused after half a second, whatever its time limit, and no longer counts as waiting', async () => {
    const { go, wait, fillSlots } = startSlots(64);
    const heldSlots = await fillSlots(slow);
    const waiting = wait(slow, 110_000);
    await vi.advanceTimersByTimeAsync(499);
    expect(waiting.state).toBe('waiting');
    await vi.advanceTimersByTimeAsync(1);
    expect(waiting).toMatchObject({ state: 'refused', error: busyError });

    endCall(heldSlots.pop());
    await go(slow);
    await expect(go(slow)).rejects.toMatchObject(busyError);
  });

  test('waits at most a quarter of its time limit', async () => {
    const { wait, fillSlots } = startSlots(64);
    await fillSlots(slow);
    const waiting = wait(slow, 400);
    await vi.advanceTimersByTimeAsync(100);

    expect(waiting.state).toBe('refused');
  });

  test('takes no slot while it waits, so that calls to other upstreams get the free slots', async () => {
    const { go, wait, fillSlots } = startSlots(64);
    await fillSlots(slow);
    const waiting: ReturnType<typeof wait>[] = [];
    for (let n = 0; n < 40; n += 1) {
      waiting.push(wait(slow));
      await letSettle();
    }
    for (let n = 0; n < 6; n += 1) await go(`https://up${n}.example/`);

    // At most half of the waiting calls may be for one upstream. So calls to other upstreams can
    // wait too while all slots are taken.
    expect(statesOf(waiting).filter((state) => state === 'waiting')).toHaveLength(16);
    const other = wait('https://other.example/');
    await letSettle();
    expect(other.state).toBe('waiting');
  });

  test('gets a reserved slot first when its upstream holds only a few slots', async () => {
    const { go, wait, fillSlots } = startSlots(64);
    await fillSlots(slow);
    const otherSlots: Slot[] = [];
    for (let n = 0; n < 6; n += 1) otherSlots.push(await go(`https://up${n}.example/`));
    const earlyWait = wait(slow);
    const lateWait = wait('https://other.example/');
    endCall(otherSlots.pop());
    await letSettle();

    expect(statesOf([earlyWait, lateWait])).toEqual(['waiting', 'entered']);
  });

  test('is refused when too many calls already wait', async () => {
    const { go, wait } = startSlots(64);
    for (let n = 0; n < 64; n += 1) await go(`https://up${n}.example/`);
    const waiting: ReturnType<typeof wait>[] = [];
    for (let n = 0; n < 200; n += 1) {
      waiting.push(wait(`https://more${n}.example/`));
      await letSettle();
    }

    expect(statesOf(waiting).filter((state) => state === 'waiting')).toHaveLength(32);
  });

  test('is refused at once when the executor stops, and later calls may not wait', async () => {
    const { slots, go, wait, fillSlots } = startSlots(64);
    const heldSlots = await fillSlots(slow);
    const waiting = wait(slow);
    slots.stopWaiting();
    await letSettle();
    expect(waiting).toMatchObject({ state: 'refused', error: busyError });

    await expect(go(slow, 10_000)).rejects.toMatchObject(busyError);
    // Calls that arrive before the executor stops listening still get free slots, but they may not
    // wait.
    endCall(heldSlots.pop());
    await go(slow, 10_000);
  });
});

test('a call is refused when too many calls are being prepared, even before its upstream is known', () => {
  const { slots } = startSlots(64);
  for (let n = 0; n < 128; n += 1) slots.take(createStranger());

  expect(() => slots.take(createStranger())).toThrow(expect.objectContaining(busyError));
});

describe('callers whose calls hang', () => {
  /** Starts more calls for each caller than there are slots, each call to another upstream. */
  const startHangingCalls = async (
    { go }: ReturnType<typeof startSlots>,
    greedyCallers: readonly CallerIds[],
  ) => {
    const heldSlots: Slot[] = [];
    for (let n = 0; n < 300; n += 1) {
      for (const [at, hog] of greedyCallers.entries()) {
        try {
          heldSlots.push(await go(`https://hangs-${at}-${n % 9}.example/`, 0, hog));
        } catch (error) {
          expect(error).toMatchObject(overShareError);
        }
      }
    }
    return heldSlots;
  };
  const callerOfUser = (name: string) => ({
    ...caller,
    userId: name,
    identityId: `agent of ${name}`,
  });

  test('get half of the slots at most, and an error that names their own calls as the reason', async () => {
    const started = startSlots(256);

    expect(await startHangingCalls(started, [caller])).toHaveLength(129);
    expect(started.slots.isBusy()).toBe(false);
    await expect(started.go('https://hangs-0-0.example/', 0, caller)).rejects.toMatchObject(
      overShareError,
    );
  });

  test('leave slots for their own calls to other upstreams', async () => {
    const { go } = startSlots(256);
    let heldSlots = 0;
    await expect(async () => {
      for (; heldSlots < 256; heldSlots += 1) await go(slow, 0, caller);
    }).rejects.toMatchObject(overShareError);

    expect(heldSlots).toBe(117);
    for (let n = 0; n < 10; n += 1) await go(`https://up${n}.example/`, 0, caller);
  });

  test('leave slots for another agent of their user, for another user, and for another org', async () => {
    const started = startSlots(256);
    await startHangingCalls(started, [caller]);
    const others = [
      { ...caller, identityId: 'another' },
      callerOfUser('another'),
      { orgId: 'another', userId: 'u', identityId: 'i' },
    ];

    for (let n = 0; n < 8; n += 1) {
      for (const other of others) await started.go('https://quick.example/', 0, other);
    }
  });

  test('leave a fifth of the slots for other orgs, even if ten agents of one org make the calls', async () => {
    const started = startSlots(256);
    await startHangingCalls(
      started,
      Array.from({ length: 10 }, (_, n) => callerOfUser(`user-${n}`)),
    );

    for (let n = 0; n < 25; n += 1) {
      await started.go('https://quick.example/', 0, { ...caller, orgId: 'another' });
    }
    expect(started.slots.isBusy()).toBe(false);
  });

  test('get no slot while a caller that holds fewer slots waits for one', async () => {
    const { go, wait } = startSlots(64);
    const heldSlots: Slot[] = [];
    const greedyCallers = Array.from({ length: 9 }, (_, n) => ({ ...caller, orgId: `org-${n}` }));
    for (let n = 0; n < 64; n += 1) {
      for (const hog of greedyCallers)
        await go(`https://h${n}.example/`, 0, hog).then(
          (slot) => heldSlots.push(slot),
          () => null,
        );
    }
    for (let n = 0; ; n += 1) {
      const slot = await go(`https://n${n}.example/`, 0, { ...caller, orgId: `new-${n}` }).catch(
        () => null,
      );
      if (slot === null) break;
    }
    const earlyWait = wait('https://a.example/', 10_000, greedyCallers[0]);
    await letSettle();
    const lateWait = wait('https://b.example/', 10_000, { ...caller, orgId: 'late' });
    await letSettle();
    expect(statesOf([earlyWait, lateWait])).toEqual(['waiting', 'waiting']);

    endCall(heldSlots.pop());
    await letSettle();
    expect(statesOf([earlyWait, lateWait])).toEqual(['waiting', 'entered']);
  });

  test('do not use up the number of calls that may wait', async () => {
    const { go, wait } = startSlots(64);
    for (let n = 0; n < 64; n += 1) {
      await go(`https://up${n}.example/`, 0, { ...caller, orgId: `org-${n}` });
    }
    const hog = Array.from({ length: 60 }, (_, n) =>
      wait(`https://hog${n}.example/`, 10_000, caller),
    );
    await letSettle();
    const other = wait('https://other.example/', 10_000, callerOfUser('another'));
    await letSettle();

    expect(hog.filter(({ state }) => state === 'waiting').length).toBeLessThan(20);
    expect(other.state).toBe('waiting');
  });

  test('do not use up the number of calls that are admitted while they are prepared', () => {
    const { slots } = startSlots(64);
    let takenCount = 0;
    expect(() => {
      for (; takenCount < 128; takenCount += 1) slots.take(caller);
    }).toThrow(expect.objectContaining(overShareError));

    expect(takenCount).toBeLessThan(70);
    slots.take(callerOfUser('another'));
  });
});

test('an executor that refused a call because all slots were taken counts as busy for ten seconds', async () => {
  const { slots, go, fillSlots } = startSlots(64);
  expect(slots.isBusy()).toBe(false);
  const heldSlots = await fillSlots(slow);
  expect(slots.isBusy()).toBe(true);
  for (const slot of heldSlots) endCall(slot);
  expect(slots.isBusy()).toBe(true);

  await vi.advanceTimersByTimeAsync(10_000);
  expect(slots.isBusy()).toBe(false);
  await go(slow);
});
