import { ruleOf, sweepOf, user } from './model-space.testing.ts';
import type { Sweep } from './model-space.testing.ts';
import type { ModelCall, ModelIdentity, Segments } from './model.testing.ts';
import { identitiesUpToUser } from './model.testing.ts';
import type { WorldRule } from './model-compare.testing.ts';

/** Keys with two positions, such as a project and a type. */
const pairs = ['P/B', 'P/C', 'Q/B', 'Q/C'];
/** Keys in which one position is unknown. */
const unknownPositionKeys = ['P/*', '*/B'];
const arguments_ = [...pairs, 'P/*', 'Q/*', '*/B', '*/C', '*/*', '**', '*'];
const patterns: readonly Segments[] = [
  ...arguments_.map((arg): Segments => ['s', 'a', arg]),
  ['s', '*', '*'],
];

/**
 * One call of each kind, since exchanging the projects or the types changes no decision. A list of
 * values gives one key for each, and the calls differ in their keys: of one project, of one type, or
 * of different projects and types.
 */
const calledArguments: readonly (readonly string[])[] = [
  ['P/B'],
  ['P/*'],
  ['*/B'],
  ['*'],
  ['P/B', 'P/C'],
  ['P/B', 'Q/B'],
  ['P/B', 'Q/C'],
  ['P/B', 'P/C', 'Q/B'],
  pairs,
  ['P/*', 'Q/*'],
  ['*/B', '*/C'],
];

/**
 * Rules on positions do not depend on the chain, so two chains are enough: one with and one without
 * an agent above. Sets of three rules are checked only on the shorter chain.
 */
const agent: ModelIdentity = { id: 'agent', parent: user, inherits: false };
const callers = [agent, { id: 'sub', parent: agent, inherits: true }];

/**
 * Calls whose keys have two positions, some of them unknown, under rules that fix only one
 * position.
 */
export function positionSweep(count: 2 | 3): Sweep {
  return sweepOf(`keys of two positions, lists of them, up to ${count} rules of users`, {
    settings: (count === 3 ? [agent] : callers).map((caller) => ({
      caller,
      others: [],
      calls: calledArguments.map(toCall),
      rules: rulesOn(caller),
    })),
    count,
  });
}

function toCall(called: readonly string[]): ModelCall {
  const risk = 'write' as const;
  return {
    keys: called.map((arg): Segments => ['s', 'a', arg]),
    // If the whole argument of a call is unknown, policy gives the call one more name for deny
    // rules.
    otherNames: called.includes('*') ? [{ segments: ['s', 'a'], risk }] : [],
    risk,
    service: 'service',
    credentials: [],
    isOpenRead: false,
  };
}

function rulesOn(caller: ModelIdentity): WorldRule[] {
  return (['org', ...identitiesUpToUser(caller)] as const).flatMap((on) => [
    ...patterns.flatMap((pattern) => [
      ruleOf({ effect: 'allow', on, pattern }),
      ruleOf({ effect: 'deny', on, pattern }),
    ]),
    // The rules that result when such a key is remembered.
    ...unknownPositionKeys.map((arg) =>
      ruleOf({ effect: 'allow', on, pattern: ['s', 'a', arg], exact: true }),
    ),
  ]);
}
