import type { ChainLink } from '#contracts/vocabulary';
import { compilePattern } from '#permission-key';
import { createDecisionBudget } from './denials.ts';
import type { WalkedCall } from './denials.ts';
import { hasAuthority, isCovered, judge, lineOf } from './model.testing.ts';
import type { ModelCall, ModelCover, ModelIdentity, ModelRule, Segments } from './model.testing.ts';
import { creatorsElsewhere, switchOf } from './rules.ts';
import type { Rule, Standing, Standings } from './rules.ts';
import { coversAll, walk } from './walk.ts';
import type { WalkedKey } from './walk.ts';

/** One call in one org, for the product and the model to judge. */
export interface World {
  readonly caller: ModelIdentity;
  /** Identities off the caller's chain, that may have made rules on it. */
  readonly others: readonly ModelIdentity[];
  readonly rules: readonly WorldRule[];
  readonly call: ModelCall;
}

/** The model knows live rules only; how long one lasts decides which of several is named. */
export interface WorldRule extends ModelRule {
  readonly expiresAtMs: number | null;
}

/** The world in words, and where product and model part; undefined when they agree on all of it. */
export function findDisagreement(world: World): string | undefined {
  const standings = standingsOf(world);
  const found = compareWalk(world, standings) ?? compareAuthority(world, standings);
  return found && `${describeWorld(world)}\n${found}`;
}

function compareWalk(world: World, standings: Standings): string | undefined {
  const { caller, call } = world;
  const expected = judge(world, caller);
  const verdict = walk(standings, caller.id, walkedCall(call));
  if (expected === 'denied' || verdict.outcome === 'denied') {
    const word = expected === 'denied' ? expected : 'not denied';
    return word === verdict.outcome ? undefined : `The model: ${word}; walk: ${verdict.outcome}.`;
  }
  const word = expected.every(isCovered) ? 'allowed' : 'gap';
  if (verdict.outcome !== word) return `The model: ${word}; walk: ${verdict.outcome}.`;
  return expected
    .map((cover, index) => compareCover(world, cover, verdict.keys[index]))
    .find((found) => found !== undefined);
}

/** A rule where there is one, and of several one that lasts longest; else the read allowance. */
function compareCover(
  { rules }: World,
  expected: ModelCover,
  found: WalkedKey | undefined,
): string | undefined {
  if (found === undefined) return 'walk answers for fewer keys than the call has.';
  const { key, cover } = found;
  const ends = rules
    .filter((rule) => expected.rules.includes(rule))
    .map(({ expiresAtMs }) => expiresAtMs ?? Infinity);
  const isRight =
    ends.length === 0
      ? cover?.by === (expected.isRead ? 'read' : undefined)
      : cover?.by === 'rule' &&
        expected.rules.some((rule) => productRule(rule) === cover.rule) &&
        (cover.rule.expiresAtMs ?? Infinity) === Math.max(...ends);
  if (isRight) return undefined;
  const words = ends.length > 0 ? `${ends.length} rules` : expected.isRead ? 'a read' : 'nothing';
  return `${key.key}, the model: covered by ${words}; walk: ${JSON.stringify(cover)}.`;
}

/** Whom one could ask: every ancestor's authority over every key. */
function compareAuthority(world: World, standings: Standings): string | undefined {
  const { caller, call } = world;
  for (const ancestor of lineOf(caller).slice(1)) {
    for (const key of call.keys) {
      const expected = hasAuthority(world, { identity: ancestor, key });
      const found = coversAll(standings, linkOf(ancestor), {
        call: walkedCall(call),
        keys: [derivedKey(key)],
      });
      if (found === expected) continue;
      return `Authority of ${ancestor.id} over ${key.join(':')}, the model: ${expected}; coversAll: ${found}.`;
    }
  }
  return undefined;
}

/** As `facts/standings.ts` loads them: rules of the org and the chain, then makers off the chain. */
function standingsOf({ caller, others, rules }: World): Standings {
  const all = new Map<string, Standing>();
  const waiting = [caller];
  for (const identity of waiting) {
    const line = lineOf(identity);
    const standing = {
      chain: chainOf(identity),
      rules: rules.filter(({ on }) => on === 'org' || line.includes(on)).map(productRule),
      selfApproving: switchesOf(identity),
    };
    all.set(identity.id, standing);
    const makers = creatorsElsewhere(standing);
    waiting.push(...others.filter((each) => makers.includes(each.id) && !waiting.includes(each)));
  }
  return all;
}

/** The product's form of each part of a world, made once: sweeps ask for the same ones millions of times. */
function once<From extends object, To>(make: (from: From) => To): (from: From) => To {
  const made = new WeakMap<From, To>();
  return (from) => {
    let to = made.get(from);
    if (to === undefined) made.set(from, (to = make(from)));
    return to;
  };
}

let ruleCount = 0;

const productRule = once((rule: ModelRule): Rule => {
  const { expiresAtMs = null } = rule as Partial<WorldRule>;
  ruleCount += 1;
  return {
    id: `rule-${ruleCount}`,
    identityId: rule.on === 'org' ? null : rule.on.id,
    effect: rule.effect,
    pattern: compilePattern(rule.pattern.join(':'), rule.exact),
    serviceId: rule.service,
    credentialId: rule.credential,
    riskAtLeast: rule.riskAtLeast,
    viaClientId: rule.via,
    creatorChain: chainOf(rule.by).map(({ id }) => id),
    expiresAtMs,
  };
});

const walkedCall = (call: ModelCall): WalkedCall => ({
  ...productCall(call),
  budget: createDecisionBudget(),
});

const productCall = once(
  ({
    keys,
    otherNames,
    risk,
    service,
    credentials,
    isOpenRead,
  }: ModelCall): Omit<WalkedCall, 'budget'> => ({
    keys: keys.map(derivedKey),
    risk,
    serviceId: service,
    credentialIds: credentials,
    isOpenRead,
    denyNames: otherNames.map(({ segments: [name, action, arg], risk }) => ({
      service: name,
      action: action ?? { among: new Set(), notAmong: new Set() },
      args: arg === undefined ? undefined : [arg],
      risk,
    })),
  }),
);

const derivedKey = once((segments: Segments) => {
  const [service, action, arg] = segments;
  return { key: segments.join(':'), service, action, arg };
});

const linkOf = once(({ id, parent, inherits }: ModelIdentity): ChainLink => ({
  id,
  name: id,
  kind: parent === null ? 'user' : parent.parent === null ? 'agent' : 'subagent',
  inheritPermissions: inherits,
}));

const chainOf = once((identity: ModelIdentity) => lineOf(identity).toReversed().map(linkOf));

/** A rule by self-approval names its client; that of the one is on for everybody, of the other for nobody. */
const switchesOf = once(
  (identity: ModelIdentity) =>
    new Set(chainOf(identity).map(({ id }) => switchOf(id, 'switched-on'))),
);

function describeWorld({ caller, others, rules, call }: World): string {
  const path = (identity: ModelIdentity) =>
    chainOf(identity)
      .map(({ id, inheritPermissions }) => (inheritPermissions ? `${id}+` : id))
      .join(' > ');
  const names = call.otherNames.map(({ segments, risk }) => `${segments.join(':')} (${risk})`);
  return [
    `${path(caller)} calls ${call.keys.map((key) => key.join(':')).join(' and ')}, ${call.risk}${call.isOpenRead ? ', an open read' : ''}`,
    ...names.map((name) => `  for denies also ${name}`),
    ...others.map((other) => `  beside it ${path(other)}`),
    ...rules.map((rule) => `  ${describeRule(rule)}`),
  ].join('\n');
}

function describeRule(rule: WorldRule): string {
  const { effect, on, pattern, exact, riskAtLeast, service, credential, via, by } = rule;
  return [
    `${effect} ${pattern.join(':')} on ${on === 'org' ? 'the org' : on.id} by ${by.id}`,
    exact ? 'exact' : '',
    riskAtLeast === null ? '' : `from ${riskAtLeast}`,
    service === null ? '' : `for ${service}`,
    credential === null ? '' : `with ${credential}`,
    via === null ? '' : `by self-approval ${via}`,
    rule.expiresAtMs === null ? '' : `until ${rule.expiresAtMs}`,
  ]
    .filter((part) => part !== '')
    .join(', ');
}
