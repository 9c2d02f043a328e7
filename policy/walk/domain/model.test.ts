import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { propertyRuns } from '../../properties.testing.ts';
import { findDisagreement } from './model-compare.testing.ts';
import type { World, WorldRule } from './model-compare.testing.ts';
import { ruleOf, user } from './model-space.testing.ts';
import { identitiesUpToUser } from './model.testing.ts';
import type { ModelCall, ModelIdentity, OtherName, Segments } from './model.testing.ts';

/**
 * `npm run test:all` also checks every small world (model-sweeps.slow.test.ts). `npm run
 * model-check` also checks worlds with three rules.
 */
describe('the permission walk decides like a simple second implementation', () => {
  test('for random trees of identities and random rules', () => {
    fc.assert(
      fc.property(anyWorld, (world) => {
        expect(findDisagreement(world)).toBeUndefined();
      }),
      { numRuns: propertyRuns },
    );
  });
});

const anyRisk = fc.constantFrom('read' as const, 'write' as const, 'delete' as const);
const anyService = fc.constantFrom('s', 's', 's', 'http');
const anyAction = fc.constantFrom('a', 'a', 'a', 'b', 'GET');
const anyArg = fc.constantFrom('x', 'x', 'x', 'x/y', 'x/y/x', 'x/*', '*/x', '*', '%2A', '');
const anyKey: fc.Arbitrary<Segments> = fc.tuple(anyService, anyAction, anyArg);
/** Most patterns are broad, because otherwise few rules would match the call. */
const anyPattern: fc.Arbitrary<Segments> = fc.oneof(
  anyKey,
  fc.constantFrom<Segments[]>(['*', '*', '*'], ['s', '*', '*'], ['s', 'a', '*']),
  fc.tuple(
    fc.oneof(anyService, fc.constant('*')),
    fc.oneof(anyAction, fc.constantFrom('*', 'ANY')),
    fc.oneof(anyArg, fc.constantFrom('**', 'x/*', 'x/**', '*/x', '**x', 'x*')),
  ),
);

const otherName: fc.Arbitrary<OtherName> = fc.record({
  segments: fc.oneof(
    fc.tuple(anyService),
    fc.tuple(anyService, anyAction),
    fc.tuple(anyService, anyAction, anyArg),
  ),
  risk: anyRisk,
});

const anyCall: fc.Arbitrary<ModelCall> = fc
  .record({
    keys: fc.oneof(fc.tuple(anyKey), fc.array(anyKey, { minLength: 2, maxLength: 3 })),
    otherNames: fc.oneof(fc.constant([]), fc.array(otherName, { maxLength: 2 })),
    risk: anyRisk,
    service: fc.constantFrom('service-1', 'service-2'),
    credentials: fc.subarray(['secret-1', 'secret-2']),
    isOpenRead: fc.boolean(),
  })
  // Only an action call can be an open read, and an action call has one permission key here.
  .map((generatedValue) => ({
    ...generatedValue,
    isOpenRead:
      generatedValue.isOpenRead &&
      generatedValue.risk === 'read' &&
      generatedValue.keys.length === 1,
  }));

/**
 * One user with agents and subagents. Each agent or subagent is put below an identity that already
 * exists.
 */
const identityTree: fc.Arbitrary<ModelIdentity[]> = fc
  .array(fc.record({ below: fc.nat(9), inherits: fc.boolean() }), {
    minLength: 1,
    maxLength: 6,
    size: 'max',
  })
  .map((generatedValue) =>
    generatedValue.reduce<ModelIdentity[]>(
      (allIdentities, { below, inherits }, index) => [
        ...allIdentities,
        {
          id: `identity-${index}`,
          parent: allIdentities[below % allIdentities.length] ?? user,
          inherits,
        },
      ],
      [user],
    ),
  );

function generateRuleAmong(allIdentities: readonly ModelIdentity[]): fc.Arbitrary<WorldRule> {
  const orNull = <Value>(value: fc.Arbitrary<Value>) =>
    fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, value);
  const allow = fc.record({
    effect: fc.constant('allow' as const),
    on: fc.constantFrom<WorldRule['on'][]>('org', ...allIdentities),
    pattern: anyPattern,
    exact: fc.oneof({ weight: 9, arbitrary: fc.constant(false) }, fc.constant(true)),
    riskAtLeast: orNull(anyRisk),
    service: orNull(fc.constantFrom('service-1', 'service-2')),
    credential: orNull(fc.constantFrom('secret-1', 'secret-2')),
    by: fc.oneof(fc.constant(user), fc.constantFrom(...allIdentities)),
    expiresAtMs: fc.option(fc.nat(3), { freq: 2 }),
  });
  const selfApprovedRule = fc.record({
    effect: fc.constant('allow' as const),
    on: fc.constantFrom(...allIdentities),
    pattern: anyPattern,
    via: fc.constantFrom('switched-on' as const, 'switched-off' as const),
  });
  const deny = fc.record({
    effect: fc.constant('deny' as const),
    on: fc.constantFrom<WorldRule['on'][]>('org', ...allIdentities),
    pattern: anyPattern,
    riskAtLeast: orNull(anyRisk),
  });
  return fc
    .oneof({ weight: 20, arbitrary: allow }, { weight: 3, arbitrary: selfApprovedRule }, deny)
    .map(ruleOf);
}

const anyWorld: fc.Arbitrary<World> = identityTree.chain((allIdentities) =>
  fc
    .record({
      caller: fc.constantFrom(...allIdentities.slice(1)),
      rules: fc.array(generateRuleAmong(allIdentities), { maxLength: 10, size: 'max' }),
      call: anyCall,
    })
    .map((generatedValue) => ({
      ...generatedValue,
      others: allIdentities.filter(
        (each) => !identitiesUpToUser(generatedValue.caller).includes(each),
      ),
    })),
);
