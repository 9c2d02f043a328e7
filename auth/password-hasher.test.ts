import { expect, test } from 'vitest';

import { createPasswordHasher } from './password-hasher.ts';
import type { Asker } from './password-hasher.ts';

const from = (owner: string, isKnown = false): Asker => ({ owner, isKnown });

/** Asks for checks in this order, and says in which they ended; what was refused is not among them. */
async function ended(askers: readonly Asker[]): Promise<{ order: string[]; refused: string[] }> {
  const passwords = createPasswordHasher({ waitingMax: 40, waitingMaxPerOwner: 8 });
  const order: string[] = [];
  const refused: string[] = [];
  await Promise.all(
    askers.map((asker) =>
      passwords.verify('CANARY-guess', null, asker).then(
        () => order.push(asker.owner),
        (error: { code: string }) => refused.push(`${asker.owner} ${error.code}`),
      ),
    ),
  );
  return { order, refused };
}

test('a network that guesses without end keeps out neither another nor a known browser', async () => {
  const flood = Array.from({ length: 100 }, () => from('flood'));
  const { order, refused } = await ended([...flood, from('neighbour'), from('browser', true)]);
  expect(order.slice(0, 5)).toContain('browser');
  expect(order.slice(0, 5)).toContain('neighbour');
  expect(new Set(refused)).toEqual(new Set(['flood unavailable']));
});

test('strangers of many networks take up no room of known browsers', async () => {
  const flood = Array.from({ length: 60 }, (_, n) => from(`net ${n % 10}`));
  const { order, refused } = await ended([...flood, from('browser', true)]);
  expect(order.slice(0, 5)).toContain('browser');
  expect(refused.length).toBeGreaterThan(0);
  expect(refused.every((each) => each.startsWith('net'))).toBe(true);
});

test('a password is checked against what was stored, and nothing against nobody’s', async () => {
  const passwords = createPasswordHasher();
  const me = from('me', true);
  const stored = await passwords.hash('CANARY-right', me);
  const checks = [
    passwords.verify('CANARY-right', stored, me),
    passwords.verify('CANARY-wrong', stored, me),
    passwords.verify('CANARY-right', null, me),
  ];
  expect(await Promise.all(checks)).toEqual([true, false, false]);
});
