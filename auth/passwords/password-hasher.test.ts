import { expect, test } from 'vitest';

import { createPasswordHasher } from './password-hasher.ts';
import type { HashRequester } from './password-hasher.ts';

const requesterOf = (owner: string, isKnown = false): HashRequester => ({ owner, isKnown });

/**
 * Starts one password check for each requester, in this order. Returns the requesters in the order
 * in which their checks ended, and the requesters that were refused.
 */
async function endOrderOf(
  requesters: readonly HashRequester[],
): Promise<{ order: string[]; refused: string[] }> {
  // With only one hash at a time, checks end in the order in which they start, even on a busy
  // machine.
  const passwords = createPasswordHasher({ atOnceMax: 1, waitingMax: 40, waitingMaxPerOwner: 8 });
  const order: string[] = [];
  const refusedTurns: string[] = [];
  await Promise.all(
    requesters.map((requester) =>
      passwords.verify('CANARY-guess', null, requester).then(
        () => order.push(requester.owner),
        (error: { code: string }) => refusedTurns.push(`${requester.owner} ${error.code}`),
      ),
    ),
  );
  return { order, refused: refusedTurns };
}

test('many guesses from one network do not delay other networks or remembered browsers', async () => {
  const floodRequesters = Array.from({ length: 100 }, () => requesterOf('flood'));
  const { order, refused } = await endOrderOf([
    ...floodRequesters,
    requesterOf('neighbour'),
    requesterOf('browser', true),
  ]);
  expect(order.slice(0, 5)).toContain('browser');
  expect(order.slice(0, 5)).toContain('neighbour');
  expect(new Set(refused)).toEqual(new Set(['flood unavailable']));
});

test('guesses from many networks do not fill the queue of remembered browsers', async () => {
  const floodRequesters = Array.from({ length: 60 }, (_, n) => requesterOf(`net ${n % 10}`));
  const { order, refused } = await endOrderOf([...floodRequesters, requesterOf('browser', true)]);
  expect(order.slice(0, 5)).toContain('browser');
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.every((each) => each.startsWith('net'))).toBe(true);
});

test('the hasher accepts only the right password, and no password without a stored hash', async () => {
  const passwords = createPasswordHasher();
  const me = requesterOf('me', true);
  const storedHash = await passwords.hash('CANARY-right', me);
  const checks = [
    passwords.verify('CANARY-right', storedHash, me),
    passwords.verify('CANARY-wrong', storedHash, me),
    passwords.verify('CANARY-right', null, me),
  ];
  expect(await Promise.all(checks)).toEqual([true, false, false]);
});
