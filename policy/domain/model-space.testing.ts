import type { World, WorldRule } from './model-compare.testing.ts';
import { lineOf } from './model.testing.ts';
import type { ModelCall, ModelIdentity, Segments } from './model.testing.ts';

/** A part of the space of worlds that is gone through to its end, smallest worlds first. */
export interface Sweep {
  readonly name: string;
  worlds(): Iterable<World>;
}

export const user: ModelIdentity = { id: 'user', parent: null, inherits: false };

/** Two services, each with the same two actions on the same two arguments. */
const services = ['s', 't'];
const actions = ['a', 'b'];
const args = ['x', 'y'];
const keys = services.flatMap((service) =>
  actions.flatMap((action) => args.map((arg): Segments => [service, action, arg])),
);
const patterns: readonly Segments[] = [
  ...keys,
  ...services.flatMap((service) => actions.map((action): Segments => [service, action, '*'])),
  ...services.map((service): Segments => [service, '*', '*']),
];
const [calledKey = ['s', 'a', 'x']] = keys;

/** Who calls: every chain of two to four identities with every flag, shortest first. */
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

/** Reads that a service opens, other reads, writes, deletes. */
function callsOf(called: readonly Segments[], count: 3 | 4): ModelCall[] {
  const call = { keys: called, otherNames: [], service: 'service', credentials: [] };
  return [
    { ...call, risk: 'read' as const, isOpenRead: called.length === 1 },
    { ...call, risk: 'read' as const, isOpenRead: false },
    { ...call, risk: 'write' as const, isOpenRead: false },
    { ...call, risk: 'delete' as const, isOpenRead: false },
  ].slice(0, count);
}

/** A user's rules: any effect, place, pattern of `patterns`, and risk. */
function userRules(caller: ModelIdentity, risks: readonly WorldRule['riskAtLeast'][]): WorldRule[] {
  return (['allow', 'deny'] as const).flatMap((effect) =>
    (['org', ...lineOf(caller)] as const).flatMap((on) =>
      patterns.flatMap((pattern) =>
        risks.map((riskAtLeast) => ruleOf({ effect, on, pattern, riskAtLeast })),
      ),
    ),
  );
}

/** Every key alone and every two of them, under up to two rules. */
const everyKey: Sweep = {
  name: 'every key and pair of keys, up to 2 rules of users',
  worlds() {
    const pairs = keys.flatMap((first, index) =>
      keys.slice(index + 1).map((second) => [first, second]),
    );
    const calls = [
      ...keys.flatMap((key) => callsOf([key], 3)),
      ...pairs.flatMap((pair) => callsOf(pair, 3).slice(2)),
    ];
    const settings = callers.map((caller) => ({
      caller,
      others: [],
      calls,
      rules: userRules(caller, [null, 'write']),
    }));
    return worldsOf(settings, [0, 1, 2]);
  },
};

/** One key stands for all from here on, because `everyKey` has shown that none is special. */
const everyRisk: Sweep = {
  name: 'one key, up to 2 rules of users, every risk_at_least',
  worlds() {
    const calls = callsOf([calledKey], 4);
    const settings = callers.map((caller) => ({
      caller,
      others: [],
      calls,
      rules: userRules(caller, [null, 'read', 'write', 'delete']),
    }));
    return worldsOf(settings, [0, 1, 2]);
  },
};

function inReverse(sweep: Sweep): Sweep {
  return {
    name: `${sweep.name}, in reverse`,
    *worlds() {
      for (const world of sweep.worlds()) yield { ...world, rules: world.rules.toReversed() };
    },
  };
}

/** Of worlds that differ only in how they name what is not called, one. */
export function users(count: 2 | 3): Sweep {
  return {
    name: `one key, up to ${count} rules of users, up to renaming`,
    worlds() {
      const calls = callsOf([calledKey], 3);
      const settings = callers.map((caller) => {
        const rules = userRules(caller, [null, 'write']);
        return { caller, others: [], calls, rules, isWanted: isFirstOfItsKind(rules) };
      });
      return worldsOf(settings, upTo(count));
    },
  };
}

/**
 * Rules that agents and subagents made, on the chain or beside it: a stranger stands below each
 * agent or subagent of the chain in turn, with rules of its own.
 */
export function makers(count: 2 | 3): Sweep {
  return {
    name: `one key, up to ${count} rules of anybody, makers beside the chain included`,
    worlds() {
      const calls = callsOf([calledKey], 3);
      const settings = callers.flatMap((caller) =>
        lineOf(caller)
          .slice(0, -1)
          .flatMap((parent) =>
            [false, true].map((inherits) => ({ id: 'stranger', parent, inherits })),
          )
          .map((stranger) => ({
            caller,
            others: [stranger],
            calls,
            rules: anybodysRules(caller, stranger),
          })),
      );
      return worldsOf(settings, upTo(count));
    },
  };
}

/** What `npm run model-check` goes through. */
export const sweeps: readonly Sweep[] = [
  everyKey,
  everyRisk,
  inReverse(everyRisk),
  users(3),
  makers(3),
];

function anybodysRules(caller: ModelIdentity, stranger: ModelIdentity): WorldRule[] {
  const places = ['org', ...lineOf(caller), stranger] as const;
  const makers = [...lineOf(caller), stranger];
  const matching: readonly Segments[] = [calledKey, ['s', '*', '*']];
  return places.flatMap((on) =>
    matching.flatMap((pattern) => [
      ruleOf({ effect: 'deny', on, pattern }),
      ruleOf({ effect: 'deny', on, pattern, riskAtLeast: 'write' }),
      ...makers.map((by) => ruleOf({ effect: 'allow', on, pattern, by })),
    ]),
  );
}

interface Setting extends Pick<World, 'caller' | 'others'> {
  readonly calls: readonly ModelCall[];
  /** Of which sets are chosen, in this order. */
  readonly rules: readonly WorldRule[];
  readonly isWanted?: (chosen: readonly WorldRule[]) => boolean;
}

function upTo(count: 2 | 3): number[] {
  return [0, 1, 2, 3].slice(0, count + 1);
}

function* worldsOf(settings: readonly Setting[], sizes: readonly number[]): Iterable<World> {
  for (const size of sizes) {
    for (const { caller, others, calls, rules, isWanted } of settings) {
      for (const chosen of combinations(rules, size)) {
        if (isWanted !== undefined && !isWanted(chosen)) continue;
        for (const call of calls) yield { caller, others, rules: chosen, call };
      }
    }
  }
}

function* combinations<Item>(items: readonly Item[], size: number, from = 0): Iterable<Item[]> {
  if (size === 0) {
    yield [];
    return;
  }
  for (let index = from; index <= items.length - size; index += 1) {
    const first = items[index] as Item;
    for (const rest of combinations(items, size - 1, index + 1)) yield [first, ...rest];
  }
}

/**
 * Names that are not called can be renamed without changing what a world says: the arguments of
 * each action but the called one, and the actions of the other service. Of all worlds that turn
 * into each other by such renaming, one is kept: the one whose rules stand first in the list.
 */
function isFirstOfItsKind(rules: readonly WorldRule[]): (chosen: readonly WorldRule[]) => boolean {
  const indexOf = new Map(rules.map((rule, index) => [rule, index]));
  const textOf = ({ effect, on, riskAtLeast }: WorldRule, pattern: Segments) =>
    [effect, on === 'org' ? on : on.id, riskAtLeast, ...pattern].join(' ');
  const indexOfText = new Map(rules.map((rule, index) => [textOf(rule, rule.pattern), index]));
  const tables = renamings().map((rename) =>
    rules.map((rule) => indexOfText.get(textOf(rule, rename(rule.pattern))) ?? -1),
  );
  return (chosen) => {
    const own = chosen.map((rule) => indexOf.get(rule) ?? -1);
    return tables.every((table) => {
      const renamed = own.map((index) => table[index] ?? -1).toSorted((a, b) => a - b);
      const at = renamed.findIndex((index, place) => index !== own[place]);
      return at < 0 || (renamed[at] ?? 0) > (own[at] ?? 0);
    });
  };
}

/** The sixteen ways, each a choice of which of four pairs of names are swapped. */
function renamings(): ((pattern: Segments) => Segments)[] {
  const swap = (text: string, [one, other]: readonly string[]) =>
    (text === one ? other : text === other ? one : text) ?? text;
  return Array.from({ length: 16 }, (_, choice) => ([service, action, arg]: Segments) => {
    const isSwapped = (bit: number) => (choice & (1 << bit)) !== 0;
    const isOther = service === 't';
    const swapsArgs = isOther ? isSwapped(action === 'a' ? 0 : 1) : action === 'b' && isSwapped(2);
    return [
      service,
      isOther && isSwapped(3) ? swap(action, actions) : action,
      swapsArgs ? swap(arg, args) : arg,
    ];
  });
}
