import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { findDenyDisagreement } from './deny-space.testing.ts';
import { findDisagreement } from './model-compare.testing.ts';
import type { World, WorldRule } from './model-compare.testing.ts';
import { makers, ruleOf, user, users } from './model-space.testing.ts';
import type { Sweep } from './model-space.testing.ts';
import { lineOf } from './model.testing.ts';
import type { ModelCall, ModelIdentity, OtherName, Segments } from './model.testing.ts';
import { propertyRuns } from './properties.testing.ts';

/** Millions of worlds, on machines that do other things too. */
const sweepTimeoutMs = 180_000;

/** `npm run model-check` goes on to three rules. */
describe('the walk agrees with its model', () => {
  test.for<Sweep>([users(2), makers(2)])('$name', { timeout: sweepTimeoutMs }, (sweep) => {
    let count = 0;
    for (const world of sweep.worlds()) {
      const found = findDisagreement(world);
      if (found !== undefined) expect.fail(found);
      count += 1;
    }
    expect(count).toBeGreaterThan(100_000);
  });

  test('which denies a request meets, whatever is on its host', { timeout: sweepTimeoutMs }, () => {
    const { count, found } = findDenyDisagreement();
    expect(found).toBeUndefined();
    expect(count).toBeGreaterThan(100_000);
  });

  test('any tree of identities, any rules, whatever they are bound to', () => {
    fc.assert(
      fc.property(anyWorld, (world) => {
        expect(findDisagreement(world)).toBeUndefined();
      }),
      { numRuns: propertyRuns },
    );
  });
});

const risk = fc.constantFrom('read' as const, 'write' as const, 'delete' as const);
const service = fc.constantFrom('s', 's', 's', 'http');
const action = fc.constantFrom('a', 'a', 'a', 'b', 'GET');
const arg = fc.constantFrom('x', 'x', 'x', 'x/y', 'x/y/x', '*', '%2A', '');
const key: fc.Arbitrary<Segments> = fc.tuple(service, action, arg);
/** Most are wide, or too few rules would concern the call. */
const pattern: fc.Arbitrary<Segments> = fc.oneof(
  key,
  fc.constantFrom<Segments[]>(['*', '*', '*'], ['s', '*', '*'], ['s', 'a', '*']),
  fc.tuple(
    fc.oneof(service, fc.constant('*')),
    fc.oneof(action, fc.constantFrom('*', 'ANY')),
    fc.oneof(arg, fc.constantFrom('**', 'x/*', 'x/**', '*/x', '**x', 'x*')),
  ),
);

const otherName: fc.Arbitrary<OtherName> = fc.record({
  segments: fc.oneof(fc.tuple(service), fc.tuple(service, action), fc.tuple(service, action, arg)),
  risk,
});

const call: fc.Arbitrary<ModelCall> = fc
  .record({
    keys: fc.oneof(fc.tuple(key), fc.array(key, { minLength: 2, maxLength: 3 })),
    otherNames: fc.oneof(fc.constant([]), fc.array(otherName, { maxLength: 2 })),
    risk,
    service: fc.constantFrom('service-1', 'service-2'),
    credentials: fc.subarray(['secret-1', 'secret-2']),
    isOpenRead: fc.boolean(),
  })
  // Only an action is an open read, and an action has one key.
  .map((made) => ({
    ...made,
    isOpenRead: made.isOpenRead && made.risk === 'read' && made.keys.length === 1,
  }));

/** One user's agents and subagents, each below one that was there before. */
const tree: fc.Arbitrary<ModelIdentity[]> = fc
  .array(fc.record({ below: fc.nat(9), inherits: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
    size: 'max',
  })
  .map((made) =>
    made.reduce<ModelIdentity[]>(
      (all, { below, inherits }, index) => [
        ...all,
        { id: `identity-${index}`, parent: all[below % all.length] ?? user, inherits },
      ],
      [user],
    ),
  );

function ruleAmong(all: readonly ModelIdentity[]): fc.Arbitrary<WorldRule> {
  const rarely = <Value>(value: fc.Arbitrary<Value>) =>
    fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, value);
  const allow = fc.record({
    effect: fc.constant('allow' as const),
    on: fc.constantFrom<WorldRule['on'][]>('org', ...all),
    pattern,
    exact: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
    riskAtLeast: rarely(risk),
    service: rarely(fc.constantFrom('service-1', 'service-2')),
    credential: rarely(fc.constantFrom('secret-1', 'secret-2')),
    by: fc.oneof(fc.constant(user), fc.constantFrom(...all)),
    expiresAtMs: fc.option(fc.nat(3), { freq: 2 }),
  });
  const selfApproved = fc.record({
    effect: fc.constant('allow' as const),
    on: fc.constantFrom(...all),
    pattern,
    via: fc.constantFrom('switched-on' as const, 'switched-off' as const),
  });
  const deny = fc.record({
    effect: fc.constant('deny' as const),
    on: fc.constantFrom<WorldRule['on'][]>('org', ...all),
    pattern,
    riskAtLeast: rarely(risk),
  });
  return fc
    .oneof({ weight: 20, arbitrary: allow }, { weight: 3, arbitrary: selfApproved }, deny)
    .map(ruleOf);
}

const anyWorld: fc.Arbitrary<World> = tree.chain((all) =>
  fc
    .record({
      caller: fc.constantFrom(...all.slice(1)),
      rules: fc.array(ruleAmong(all), { maxLength: 10, size: 'max' }),
      call,
    })
    .map((made) => ({
      ...made,
      others: all.filter((each) => !lineOf(made.caller).includes(each)),
    })),
);
