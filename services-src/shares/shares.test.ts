import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { callerLevelsOf, callerPathOf } from './callers.ts';
import { Shares } from './shares.ts';

const settings = { SHARE_ORG_PERCENT: 80, SHARE_USER_PERCENT: 80, SHARE_IDENTITY_PERCENT: 80 };
const levels = callerLevelsOf(settings);
const poolOf = (capacity: number) => new Shares({ capacity, levels });
type CallerShares = ReturnType<typeof poolOf>;

/** Takes one unit at a time until a take is refused, and returns how many takes succeeded. */
function fillShares(shares: CallerShares, path: readonly string[]): number {
  for (let takenCount = 0; ; takenCount += 1) if (shares.take(path) !== null) return takenCount;
}

/** Lets the paths take one unit each in turn, until all of them are refused. */
function fillAll(shares: CallerShares, paths: readonly (readonly string[])[]): void {
  for (let heldBefore = -1; heldBefore !== shares.held;) {
    heldBefore = shares.held;
    for (const path of paths) shares.take(path);
  }
}

describe('a pool of places that orgs, users and identities share', () => {
  test('lets an identity that is alone take half of the places, and its user and org more', () => {
    const shares = poolOf(256);

    expect(fillShares(shares, ['org', 'user', 'agent'])).toBe(131);
    expect(shares.refusalOf(['org', 'user', 'agent'])).toBe('identity');
    fillAll(
      shares,
      Array.from({ length: 40 }, (_, n) => ['org', 'user', `agent-${n}`]),
    );
    expect(shares.heldOn(['org', 'user'])[2]).toBeGreaterThan(155);
    expect(shares.heldOn(['org', 'user'])[2]).toBeLessThanOrEqual(163);
  });

  test('reports whether the share of the identity, the user or the org is used up', () => {
    const shares = poolOf(64);
    const agents = Array.from({ length: 60 }, (_, n) => ['org', 'user', `agent-${n}`]);
    fillAll(shares, agents);
    expect(shares.refusalOf(['org', 'user', 'agent-0'])).toBe('user');
    const users = Array.from({ length: 60 }, (_, n) => ['org', `user-${n}`, 'agent']);
    fillAll(shares, users);
    expect(shares.refusalOf(['org', 'user-0', 'agent'])).toBe('org');
    for (let n = 0; shares.take([`org-${n}`, 'user', 'agent']) === null;) n += 1;
    expect(shares.refusalOf(['one-more', 'user', 'agent'])).toBe('pool');
    expect(shares.held).toBe(64);
  });

  test('leaves room for another identity, user and org when one identity takes all it can', () => {
    const shares = poolOf(256);
    fillShares(shares, ['org', 'user', 'agent']);

    expect(fillShares(shares, ['org', 'user', 'other'])).toBeGreaterThanOrEqual(20);
    expect(fillShares(shares, ['org', 'other', 'agent'])).toBeGreaterThanOrEqual(20);
    expect(fillShares(shares, ['other', 'user', 'agent'])).toBeGreaterThanOrEqual(20);
  });

  test('leaves a fifth of the places for other orgs when ten agents of one org take all they can', () => {
    const shares = poolOf(256);
    fillAll(
      shares,
      Array.from({ length: 10 }, (_, n) => ['org', `user-${n}`, `agent-${n}`]),
    );

    expect(shares.heldOn(['org'])[1]).toBeLessThanOrEqual(205);
    expect(shares.heldOn(['org'])[1]).toBeGreaterThan(190);
    expect(fillShares(shares, ['other', 'user', 'agent'])).toBeGreaterThanOrEqual(25);
  });

  test('may be taken completely by one identity when all percentages are 100', () => {
    const all = {
      SHARE_ORG_PERCENT: 100,
      SHARE_USER_PERCENT: 100,
      SHARE_IDENTITY_PERCENT: 100,
    };
    const shares = new Shares({ capacity: 64, levels: callerLevelsOf(all) });

    expect(fillShares(shares, ['org', 'user', 'agent'])).toBe(64);
    expect(shares.refusalOf(['org', 'user', 'agent'])).toBe('pool');
  });

  test('is not shared when its capacity is very small', () => {
    expect(fillShares(poolOf(4), ['org', 'user', 'agent'])).toBe(4);
  });

  test('counts each place for the org, the user and the identity', () => {
    const caller = { orgId: 'o', userId: 'u', identityId: 'i' };
    expect(callerPathOf(caller)).toEqual(['o', 'u', 'i']);
  });
});

const id = fc.integer({ min: 0, max: 4 }).map(String);
const pathArbitrary = fc.tuple(id, id, id);
const percentArbitrary = fc.integer({ min: 10, max: 100 });
const poolAndSteps = fc.record({
  capacity: fc.integer({ min: 16, max: 300 }),
  percents: fc.tuple(percentArbitrary, percentArbitrary, percentArbitrary),
  steps: fc.array(
    fc.record({ path: pathArbitrary, gives: fc.boolean(), amount: fc.integer({ min: 1, max: 5 }) }),
    { maxLength: 300 },
  ),
});

function sharesOf(capacity: number, [org, user, identity]: readonly [number, number, number]) {
  const percents = {
    SHARE_ORG_PERCENT: org,
    SHARE_USER_PERCENT: user,
    SHARE_IDENTITY_PERCENT: identity,
  };
  return new Shares({ capacity, levels: callerLevelsOf(percents) });
}

describe('after any sequence of taking and giving back places of such a pool', () => {
  test('the counts are right, and no group was allowed to hold more than its part', () => {
    fc.assert(
      fc.property(poolAndSteps, ({ capacity, percents, steps }) => {
        const shares = sharesOf(capacity, percents);
        const takenCount: { path: readonly string[]; amount: number }[] = [];
        for (const { path, gives, amount } of steps) {
          if (gives) {
            const lastTaken = takenCount.pop();
            if (lastTaken) shares.give(lastTaken.path, lastTaken.amount);
          } else if (shares.take(path, amount) === null) {
            takenCount.push({ path, amount });
            let partMax = capacity;
            for (const [at, held] of shares.heldOn(path).entries()) {
              if (at > 0) partMax *= (percents[at - 1] ?? 100) / 100;
              // The first amount that a group takes is never cut, so it may exceed the group's
              // part.
              expect(held).toBeLessThanOrEqual(Math.max(partMax + 1e-6, amount));
            }
          }
          const countedAmounts = [0, 1, 2, 3].map((depth) =>
            takenCount
              .filter((each) => each.path.slice(0, depth).join() === path.slice(0, depth).join())
              .reduce((sum, each) => sum + each.amount, 0),
          );
          expect(shares.heldOn(path)).toEqual(countedAmounts);
        }
        for (const { path, amount } of takenCount) shares.give(path, amount);
        expect(shares.held).toBe(0);
        expect(shares).toEqual(sharesOf(capacity, percents));
      }),
    );
  });

  test('an org that holds places cannot take the last place from an org that holds none', () => {
    fc.assert(
      fc.property(poolAndSteps, ({ capacity, percents, steps }) => {
        // An operator who sets 100 percent chooses to keep nothing free.
        const [org, user, identity] = percents;
        const shares = sharesOf(capacity, [Math.min(org, 99), user, identity]);
        for (const { path, gives } of steps) {
          const [heldBefore = 0, ofOrg = 0] = shares.heldOn(path);
          if (gives || shares.take(path) !== null || ofOrg === 0) continue;
          expect(heldBefore).toBeLessThan(capacity - 1);
          expect(shares.refusalOf(['new', 'user', 'agent'])).toBeNull();
        }
      }),
    );
  });

  test('ten identities, users or orgs that take all they can leave a place for one more at each level', () => {
    const tenNames = fc.integer({ min: 0, max: 9 }).map(String);
    const identities = fc.tuple(fc.constant('org'), fc.constant('user'), tenNames);
    const users = fc.tuple(fc.constant('org'), tenNames, tenNames);
    const orgs = fc.tuple(tenNames, tenNames, tenNames);
    const newcomers = [
      ['org', 'user', 'new'],
      ['org', 'new', 'agent'],
      ['new', 'user', 'agent'],
    ];
    for (const [at, hog] of [identities, users, orgs].entries()) {
      const hogNames = fc.uniqueArray(hog, { minLength: 1, maxLength: 10, selector: String });
      fc.assert(
        fc.property(fc.integer({ min: 128, max: 1_000 }), hogNames, (capacity, paths) => {
          const shares = poolOf(capacity);
          fillAll(shares, paths);
          for (const newcomer of newcomers.slice(at)) expect(shares.take(newcomer)).toBeNull();
        }),
      );
    }
  });

  test('an identity that is alone can take its whole part again after giving it back', () => {
    fc.assert(
      fc.property(poolAndSteps, ({ capacity, percents, steps }) => {
        const shares = sharesOf(capacity, percents);
        for (const { path } of steps) shares.take(path);
        for (const { path } of steps) {
          const [held = 0] = shares.heldOn(path).slice(-1);
          if (held > 0) shares.give(path, held);
        }
        const partMax = percents.reduce((sum, each) => (sum * each) / 100, capacity);
        expect(fillShares(shares, ['org', 'user', 'agent'])).toBeGreaterThanOrEqual(
          Math.floor(partMax),
        );
      }),
    );
  });
});
