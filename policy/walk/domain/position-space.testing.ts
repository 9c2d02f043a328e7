import { ruleOf, sweepOf, user } from './model-space.testing.ts';
import type { Sweep } from './model-space.testing.ts';
import type { ModelCall, ModelIdentity, Segments } from './model.testing.ts';
import { identitiesUpToUser } from './model.testing.ts';
import type { WorldRule } from './model-compare.testing.ts';

/** Keys with two positions, such as a project and a type. */
const pairs = ['P/B', 'P/C', 'Q/B', 'Q/C'];
/** Keys of which one position or the whole argument is unknown. */
const unknown = ['P/*', '*/B'];
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
 * Rules on positions do not depend on the chain, so two chains are enough, with and without an agent
 * above, and the shorter one for sets of three rules.
 */
const agent: ModelIdentity = { id: 'agent', parent: user, inherits: false };
const callers = [agent, { id: 'sub', parent: agent, inherits: true }];

/** Calls with keys of two positions, some unknown, under rules that hold one position open. */
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
    // Policy names a call whose whole argument is unknown once more, for denies.
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
    // What remembering such a key makes.
    ...unknown.map((arg) => ruleOf({ effect: 'allow', on, pattern: ['s', 'a', arg], exact: true })),
  ]);
}
