import type { World, WorldRule } from './model-compare.testing.ts';
import { identitiesUpToUser } from './model.testing.ts';
import type { ModelCall, ModelIdentity, Segments } from './model.testing.ts';

/** A set of worlds. Every world in it is checked, the smallest ones first. */
export interface Sweep {
  readonly name: string;
  worlds(): Iterable<World>;
}

export const user: ModelIdentity = { id: 'user', parent: null, inherits: false };

/** Two services. Each has the same two actions with the same two arguments. */
const services = ['s', 't'];
const actions = ['a', 'b'];
const args = ['x', 'y'];
const allKeys = services.flatMap((service) =>
  actions.flatMap((action) => args.map((arg): Segments => [service, action, arg])),
);
const patterns: readonly Segments[] = [
  ...allKeys,
  ...services.flatMap((service) => actions.map((action): Segments => [service, action, '*'])),
  ...services.map((service): Segments => [service, '*', '*']),
];
const [calledKey = ['s', 'a', 'x']] = allKeys;

/** The callers: every chain of two to four identities with every combination of flags, shortest first. */
const callers: readonly ModelIdentity[] = ['agent', 'sub', 'leaf']
  .reduce<ModelIdentity[][]>(
    (levels, id) => [
      ...levels,
      (levels.at(-1) ?? []).flatMap((parent) =>
        [false, true].map((inherits) => ({ id, parent, inherits })),
      ),
    ],
    [[user]],
  )
  .slice(1)
  .flat();

export function ruleOf(
  rule: Pick<WorldRule, 'effect' | 'on' | 'pattern'> & Partial<WorldRule>,
): WorldRule {
  return {
    exact: false,
    riskAtLeast: null,
    service: null,
    credential: null,
    via: null,
    by: user,
    expiresAtMs: null,
    ...rule,
  };
}

/** Calls of every kind: open reads, other reads, writes and deletes. */
function callsOf(calledKeys: readonly Segments[], count: 3 | 4): ModelCall[] {
  const call = { keys: calledKeys, otherNames: [], service: 'service', credentials: [] };
  return [
    { ...call, risk: 'read' as const, isOpenRead: calledKeys.length === 1 },
    { ...call, risk: 'read' as const, isOpenRead: false },
    { ...call, risk: 'write' as const, isOpenRead: false },
    { ...call, risk: 'delete' as const, isOpenRead: false },
  ].slice(0, count);
}

/**
 * All rules that a user could make, with every effect, identity, risk and pattern of `patterns`.
 */
function userRulesOf(
  caller: ModelIdentity,
  risks: readonly WorldRule['riskAtLeast'][],
): WorldRule[] {
  return (['allow', 'deny'] as const).flatMap((effect) =>
    (['org', ...identitiesUpToUser(caller)] as const).flatMap((on) =>
      patterns.flatMap((pattern) =>
        risks.map((riskAtLeast) => ruleOf({ effect, on, pattern, riskAtLeast })),
      ),
    ),
  );
}

/** Calls with every permission key and every pair of keys, with up to two rules. */
const everyKeySweep: Sweep = {
  name: 'every key and pair of keys, up to 2 rules of users',
  worlds() {
    const pairs = allKeys.flatMap((first, index) =>
      allKeys.slice(index + 1).map((second) => [first, second]),
    );
    const calls = [
      ...allKeys.flatMap((key) => callsOf([key], 3)),
      ...pairs.flatMap((pair) => callsOf(pair, 3).slice(2)),
    ];
    const settings = callers.map((caller) => ({
      caller,
      others: [],
      calls,
      rules: userRulesOf(caller, [null, 'write']),
    }));
    return generateWorlds(settings, [0, 1, 2]);
  },
};

/**
 * This sweep and the following ones use the same permission key everywhere, because `everyKeySweep`
 * has shown that no key is special.
 */
const everyRiskSweep: Sweep = {
  name: 'one key, up to 2 rules of users, every risk_at_least',
  worlds() {
    const calls = callsOf([calledKey], 4);
    const settings = callers.map((caller) => ({
      caller,
      others: [],
      calls,
      rules: userRulesOf(caller, [null, 'read', 'write', 'delete']),
    }));
    return generateWorlds(settings, [0, 1, 2]);
  },
};

function withRulesReversed(sweep: Sweep): Sweep {
  return {
    name: `${sweep.name}, in reverse`,
    *worlds() {
      for (const world of sweep.worlds()) yield { ...world, rules: world.rules.toReversed() };
    },
  };
}

/**
 * Worlds in which users made all rules. If worlds differ only in names that the call does not use,
 * only one of them is checked.
 */
export function userRuleSweep(count: 2 | 3): Sweep {
  return {
    name: `one key, up to ${count} rules of users, up to renaming`,
    worlds() {
      const calls = callsOf([calledKey], 3);
      const settings = callers.map((caller) => {
        const rules = userRulesOf(caller, [null, 'write']);
        return { caller, others: [], calls, rules, isWanted: createFirstOfKindTest(rules) };
      });
      return generateWorlds(settings, setSizesUpTo(count));
    },
  };
}

/**
 * Worlds with rules that agents and subagents made. The makers are those on the chain, and one more
 * agent beside the chain: it is put below each agent and subagent of the chain in turn and has its
 * own rules.
 */
export function makerRuleSweep(count: 2 | 3): Sweep {
  return {
    name: `one key, up to ${count} rules of anybody, makers beside the chain included`,
    worlds() {
      const calls = callsOf([calledKey], 3);
      const settings = callers.flatMap((caller) =>
        identitiesUpToUser(caller)
          .slice(0, -1)
          .flatMap((parent) =>
            [false, true].map((inherits) => ({ id: 'stranger', parent, inherits })),
          )
          .map((stranger) => ({
            caller,
            others: [stranger],
            calls,
            rules: rulesOfAnybody(caller, stranger),
          })),
      );
      return generateWorlds(settings, setSizesUpTo(count));
    },
  };
}

/** The sweeps of `npm run model-check` with keys of one position. */
export const sweeps: readonly Sweep[] = [
  everyKeySweep,
  everyRiskSweep,
  withRulesReversed(everyRiskSweep),
  userRuleSweep(3),
  makerRuleSweep(3),
];

/** The sweep over every set of up to `count` rules, in each setting. */
export function sweepOf(
  name: string,
  { settings, count }: { settings: readonly WorldSetting[]; count: 2 | 3 },
): Sweep {
  return { name, worlds: () => generateWorlds(settings, setSizesUpTo(count)) };
}

function rulesOfAnybody(caller: ModelIdentity, stranger: ModelIdentity): WorldRule[] {
  const ruleTargets = ['org', ...identitiesUpToUser(caller), stranger] as const;
  const makers = [...identitiesUpToUser(caller), stranger];
  const matchingPatterns: readonly Segments[] = [calledKey, ['s', '*', '*']];
  return ruleTargets.flatMap((on) =>
    matchingPatterns.flatMap((pattern) => [
      ruleOf({ effect: 'deny', on, pattern }),
      ruleOf({ effect: 'deny', on, pattern, riskAtLeast: 'write' }),
      ...makers.map((by) => ruleOf({ effect: 'allow', on, pattern, by })),
    ]),
  );
}

interface WorldSetting extends Pick<World, 'caller' | 'others'> {
  readonly calls: readonly ModelCall[];
  /** The sets of rules are chosen from these rules, in this order. */
  readonly rules: readonly WorldRule[];
  readonly isWanted?: (chosen: readonly WorldRule[]) => boolean;
}

function setSizesUpTo(count: 2 | 3): number[] {
  return [0, 1, 2, 3].slice(0, count + 1);
}

function* generateWorlds(
  settings: readonly WorldSetting[],
  sizes: readonly number[],
): Iterable<World> {
  for (const size of sizes) {
    for (const { caller, others, calls, rules, isWanted } of settings) {
      for (const chosen of generateCombinations(rules, size)) {
        if (isWanted !== undefined && !isWanted(chosen)) continue;
        for (const call of calls) yield { caller, others, rules: chosen, call };
      }
    }
  }
}

function* generateCombinations<Item>(
  items: readonly Item[],
  size: number,
  from = 0,
): Iterable<Item[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let index = from; index <= items.length - size; index += 1) {
    const first = items[index] as Item;
    for (const rest of generateCombinations(items, size - 1, index + 1)) yield [first, ...rest];
  }
}

/**
 * Chooses one of several worlds that differ only in names. Names that the call does not use
 * (arguments of the other actions, actions of the other service) can be exchanged without changing
 * a decision. Of all worlds that such exchanges convert into each other, the chosen one has the
 * rules that come first in the list.
 */
function createFirstOfKindTest(
  rules: readonly WorldRule[],
): (chosen: readonly WorldRule[]) => boolean {
  const indexOf = new Map(rules.map((rule, index) => [rule, index]));
  const ruleTextOf = ({ effect, on, riskAtLeast }: WorldRule, pattern: Segments) =>
    [effect, on === 'org' ? on : on.id, riskAtLeast, ...pattern].join(' ');
  const indexOfText = new Map(rules.map((rule, index) => [ruleTextOf(rule, rule.pattern), index]));
  const tables = listRenamings().map((rename) =>
    rules.map((rule) => indexOfText.get(ruleTextOf(rule, rename(rule.pattern))) ?? -1),
  );
  return (chosen) => {
    const ownIndexes = chosen.map((rule) => indexOf.get(rule) ?? -1);
    return tables.every((table) => {
      const renamed = ownIndexes.map((index) => table[index] ?? -1).toSorted((a, b) => a - b);
      const at = renamed.findIndex((index, place) => index !== ownIndexes[place]);
      return at < 0 || (renamed[at] ?? 0) > (ownIndexes[at] ?? 0);
    });
  };
}

/** All sixteen ways to exchange names: each of four pairs of names may be swapped. */
function listRenamings(): ((pattern: Segments) => Segments)[] {
  const swapNames = (text: string, [one, other]: readonly string[]) =>
    (text === one ? other : text === other ? one : text) ?? text;
  return Array.from({ length: 16 }, (_, swapBits) => ([service, action, arg]: Segments) => {
    const isSwapped = (bit: number) => (swapBits & (1 << bit)) !== 0;
    const isOther = service === 't';
    const swapsArgs = isOther ? isSwapped(action === 'a' ? 0 : 1) : action === 'b' && isSwapped(2);
    return [
      service,
      isOther && isSwapped(3) ? swapNames(action, actions) : action,
      swapsArgs ? swapNames(arg, args) : arg,
    ];
  });
}
