import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { callerLevels, callerPath } from './callers.ts';
import { Shares } from './shares.ts';

const settings = { SHARE_ORG_PERCENT: 80, SHARE_USER_PERCENT: 80, SHARE_IDENTITY_PERCENT: 80 };
const levels = callerLevels(settings);
const poolOf = (capacity: number) => new Shares({ capacity, levels });
type CallerShares = ReturnType<typeof poolOf>;

/** Takes until it is refused; how often it was given. */
function fill(shares: CallerShares, path: readonly string[]): number {
  for (let taken = 0; ; taken += 1) if (shares.take(path) !== null) return taken;
}

/** All take in turns, as calls that never end do, until every one of them is refused. */
function fillAll(shares: CallerShares, paths: readonly (readonly string[])[]): void {
  for (let before = -1; before !== shares.held;) {
    before = shares.held;
    for (const path of paths) shares.take(path);
  }
}

describe('a pool that is shared out', () => {
  test('gives half of itself to an identity that is alone, and more to its user and org', () => {
    const shares = poolOf(256);

    expect(fill(shares, ['org', 'user', 'agent'])).toBe(131);
    expect(shares.refusalOf(['org', 'user', 'agent'])).toBe('identity');
    fillAll(
      shares,
      Array.from({ length: 40 }, (_, n) => ['org', 'user', `agent-${n}`]),
    );
    expect(shares.heldOn(['org', 'user'])[2]).toBeGreaterThan(155);
    expect(shares.heldOn(['org', 'user'])[2]).toBeLessThanOrEqual(163);
  });

  test('says whose share is used up', () => {
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

  test('leaves room for another identity, another user and another org beside one that takes all it can', () => {
    const shares = poolOf(256);
    fill(shares, ['org', 'user', 'agent']);

    expect(fill(shares, ['org', 'user', 'other'])).toBeGreaterThanOrEqual(20);
    expect(fill(shares, ['org', 'other', 'agent'])).toBeGreaterThanOrEqual(20);
    expect(fill(shares, ['other', 'user', 'agent'])).toBeGreaterThanOrEqual(20);
  });

  test('leaves a fifth to other orgs beside ten agents of one org', () => {
    const shares = poolOf(256);
    fillAll(
      shares,
      Array.from({ length: 10 }, (_, n) => ['org', `user-${n}`, `agent-${n}`]),
    );

    expect(shares.heldOn(['org'])[1]).toBeLessThanOrEqual(205);
    expect(shares.heldOn(['org'])[1]).toBeGreaterThan(190);
    expect(fill(shares, ['other', 'user', 'agent'])).toBeGreaterThanOrEqual(25);
  });

  test('is whole for one org when the setting says that there is nobody to protect from it', () => {
    const all = {
      SHARE_ORG_PERCENT: 100,
      SHARE_USER_PERCENT: 100,
      SHARE_IDENTITY_PERCENT: 100,
    };
    const shares = new Shares({ capacity: 64, levels: callerLevels(all) });

    expect(fill(shares, ['org', 'user', 'agent'])).toBe(64);
    expect(shares.refusalOf(['org', 'user', 'agent'])).toBe('pool');
  });

  test('is not shared out when there is hardly any of it', () => {
    expect(fill(poolOf(4), ['org', 'user', 'agent'])).toBe(4);
  });

  test('is one org, one user, one identity of a caller', () => {
    const caller = { orgId: 'o', userId: 'u', identityId: 'i' };
    expect(callerPath(caller)).toEqual(['o', 'u', 'i']);
  });
});

const id = fc.integer({ min: 0, max: 4 }).map(String);
const pathOf = fc.tuple(id, id, id);
const percent = fc.integer({ min: 10, max: 100 });
const poolAndSteps = fc.record({
  capacity: fc.integer({ min: 16, max: 300 }),
  percents: fc.tuple(percent, percent, percent),
  steps: fc.array(
    fc.record({ path: pathOf, gives: fc.boolean(), amount: fc.integer({ min: 1, max: 5 }) }),
    { maxLength: 300 },
  ),
});

function sharesOf(capacity: number, [org, user, identity]: readonly [number, number, number]) {
  const percents = {
    SHARE_ORG_PERCENT: org,
    SHARE_USER_PERCENT: user,
    SHARE_IDENTITY_PERCENT: identity,
  };
  return new Shares({ capacity, levels: callerLevels(percents) });
}

describe('whatever is taken and given back in whatever order', () => {
  test('counts are right, and no group holds more than its part when it takes', () => {
    fc.assert(
      fc.property(poolAndSteps, ({ capacity, percents, steps }) => {
        const shares = sharesOf(capacity, percents);
        const taken: { path: readonly string[]; amount: number }[] = [];
        for (const { path, gives, amount } of steps) {
          if (gives) {
            const last = taken.pop();
            if (last) shares.give(last.path, last.amount);
          } else if (shares.take(path, amount) === null) {
            taken.push({ path, amount });
            let part = capacity;
            for (const [at, held] of shares.heldOn(path).entries()) {
              if (at > 0) part *= (percents[at - 1] ?? 100) / 100;
              // What a group that held nothing takes first is not cut into pieces.
              expect(held).toBeLessThanOrEqual(Math.max(part + 1e-6, amount));
            }
          }
          const counted = [0, 1, 2, 3].map((depth) =>
            taken
              .filter((each) => each.path.slice(0, depth).join() === path.slice(0, depth).join())
              .reduce((sum, each) => sum + each.amount, 0),
          );
          expect(shares.heldOn(path)).toEqual(counted);
        }
        for (const { path, amount } of taken) shares.give(path, amount);
        expect(shares.held).toBe(0);
        expect(shares).toEqual(sharesOf(capacity, percents));
      }),
    );
  });

  test('an org that holds something never takes the last place of one that holds nothing', () => {
    fc.assert(
      fc.property(poolAndSteps, ({ capacity, percents, steps }) => {
        // At 100 percent nothing is kept back, by the operator's wish.
        const [org, user, identity] = percents;
        const shares = sharesOf(capacity, [Math.min(org, 99), user, identity]);
        for (const { path, gives } of steps) {
          const [before = 0, ofOrg = 0] = shares.heldOn(path);
          if (gives || shares.take(path) !== null || ofOrg === 0) continue;
          expect(before).toBeLessThan(capacity - 1);
          expect(shares.refusalOf(['new', 'user', 'agent'])).toBeNull();
        }
      }),
    );
  });

  test('beside ten that want everything, others find a place: within the user, the org and the pool that they fill', () => {
    const ten = fc.integer({ min: 0, max: 9 }).map(String);
    const identities = fc.tuple(fc.constant('org'), fc.constant('user'), ten);
    const users = fc.tuple(fc.constant('org'), ten, ten);
    const orgs = fc.tuple(ten, ten, ten);
    const newcomers = [
      ['org', 'user', 'new'],
      ['org', 'new', 'agent'],
      ['new', 'user', 'agent'],
    ];
    for (const [at, hog] of [identities, users, orgs].entries()) {
      const hogs = fc.uniqueArray(hog, { minLength: 1, maxLength: 10, selector: String });
      fc.assert(
        fc.property(fc.integer({ min: 128, max: 1_000 }), hogs, (capacity, paths) => {
          const shares = poolOf(capacity);
          fillAll(shares, paths);
          for (const newcomer of newcomers.slice(at)) expect(shares.take(newcomer)).toBeNull();
        }),
      );
    }
  });

  test('what is free is given to whoever wants it, up to the part of one that is alone', () => {
    fc.assert(
      fc.property(poolAndSteps, ({ capacity, percents, steps }) => {
        const shares = sharesOf(capacity, percents);
        for (const { path } of steps) shares.take(path);
        for (const { path } of steps) {
          const [held = 0] = shares.heldOn(path).slice(-1);
          if (held > 0) shares.give(path, held);
        }
        const part = percents.reduce((sum, each) => (sum * each) / 100, capacity);
        expect(fill(shares, ['org', 'user', 'agent'])).toBeGreaterThanOrEqual(Math.floor(part));
      }),
    );
  });
});
