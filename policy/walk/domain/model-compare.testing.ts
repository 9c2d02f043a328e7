import type { ChainLink } from '#contracts/vocabulary';
import { compilePattern } from '#permission-key';
import type { Rule } from '../../rules/domain/rule.ts';
import { creatorsElsewhereOf, switchOf } from './chain-rules.ts';
import type { ChainRules, RulesByIdentity } from './chain-rules.ts';
import { createDecisionBudget } from './denial.ts';
import type { WalkedCall } from './denial.ts';
import { hasAuthority, isCovered, decideByModel, identitiesUpToUser } from './model.testing.ts';
import type { ModelCall, ModelCover, ModelIdentity, ModelRule, Segments } from './model.testing.ts';
import { coversAll, walk } from './walk.ts';
import type { WalkedKey } from './walk.ts';

/** One call in one org. Both the product and the model decide it. */
export interface World {
  readonly caller: ModelIdentity;
  /** Identities that may have made rules on the caller's chain but are not on it. */
  readonly others: readonly ModelIdentity[];
  readonly rules: readonly WorldRule[];
  readonly call: ModelCall;
}

/**
 * A rule with its time of expiry. The model has only rules in force. The product needs the time,
 * because of several rules it names the one that expires last.
 */
export interface WorldRule extends ModelRule {
  readonly expiresAtMs: number | null;
}

/**
 * The first difference between product and model in this world, with a description of the world;
 * undefined when they agree.
 */
export function findDisagreement(world: World): string | undefined {
  const rulesByIdentity = rulesByIdentityIn(world);
  const disagreement =
    compareWalk(world, rulesByIdentity) ?? compareAuthority(world, rulesByIdentity);
  return disagreement && `${describeWorld(world)}\n${disagreement}`;
}

function compareWalk(world: World, rulesByIdentity: RulesByIdentity): string | undefined {
  const { caller, call } = world;
  const expected = decideByModel(world, caller);
  const verdict = walk(rulesByIdentity, caller.id, toWalkedCall(call));
  if (expected === 'denied' || verdict.outcome === 'denied') {
    const outcomeWord = expected === 'denied' ? expected : 'not denied';
    return outcomeWord === verdict.outcome
      ? undefined
      : `The model: ${outcomeWord}; walk: ${verdict.outcome}.`;
  }
  const outcomeWord = expected.every(isCovered) ? 'allowed' : 'gap';
  if (verdict.outcome !== outcomeWord)
    return `The model: ${outcomeWord}; walk: ${verdict.outcome}.`;
  return expected
    .map((cover, index) => compareCover(world, cover, verdict.keys[index]))
    .find((disagreement) => disagreement !== undefined);
}

/**
 * Compares what covers a key: the rule that expires last or, if there is no rule, the read
 * allowance.
 */
function compareCover(
  { rules }: World,
  expected: ModelCover,
  disagreement: WalkedKey | undefined,
): string | undefined {
  if (disagreement === undefined) return 'walk answers for fewer keys than the call has.';
  const { key, cover } = disagreement;
  const endTimes = rules
    .filter((rule) => expected.rules.includes(rule))
    .map(({ expiresAtMs }) => expiresAtMs ?? Infinity);
  const doesAgree =
    endTimes.length === 0
      ? cover?.by === (expected.isRead ? 'read' : undefined)
      : cover?.by === 'rule' &&
        expected.rules.some((rule) => toProductRule(rule) === cover.rule) &&
        (cover.rule.expiresAtMs ?? Infinity) === Math.max(...endTimes);
  if (doesAgree) return undefined;
  const coverWords =
    endTimes.length > 0 ? `${endTimes.length} rules` : expected.isRead ? 'a read' : 'nothing';
  return `${key.key}, the model: covered by ${coverWords}; walk: ${JSON.stringify(cover)}.`;
}

/** Compares the authority that every ancestor has over every permission key. */
function compareAuthority(world: World, rulesByIdentity: RulesByIdentity): string | undefined {
  const { caller, call } = world;
  for (const ancestor of identitiesUpToUser(caller).slice(1)) {
    for (const key of call.keys) {
      const expected = hasAuthority(world, { identity: ancestor, key });
      const disagreement = coversAll(rulesByIdentity, linkOf(ancestor), {
        call: toWalkedCall(call),
        keys: [toDerivedKey(key)],
      });
      if (disagreement === expected) continue;
      return `Authority of ${ancestor.id} over ${key.join(':')}, the model: ${expected}; coversAll: ${disagreement}.`;
    }
  }
  return undefined;
}

/**
 * Builds what `walk/load-chain-rules.ts` would load: the rules of the org and of the chain, then
 * the rules for agents that made rules on the chain without being on it.
 */
function rulesByIdentityIn({ caller, others, rules }: World): RulesByIdentity {
  const chainRulesById = new Map<string, ChainRules>();
  const identitiesToVisit = [caller];
  for (const identity of identitiesToVisit) {
    const line = identitiesUpToUser(identity);
    const chainRules = {
      chain: chainOf(identity),
      rules: rules.filter(({ on }) => on === 'org' || line.includes(on)).map(toProductRule),
      selfApproving: switchesOf(identity),
    };
    chainRulesById.set(identity.id, chainRules);
    const makers = creatorsElsewhereOf(chainRules);
    identitiesToVisit.push(
      ...others.filter((each) => makers.includes(each.id) && !identitiesToVisit.includes(each)),
    );
  }
  return chainRulesById;
}

/**
 * Converts each part of a world only once, because the sweeps use the same parts millions of times.
 */
function memoise<From extends object, To>(make: (from: From) => To): (from: From) => To {
  const valuesByKey = new WeakMap<From, To>();
  return (from) => {
    let to = valuesByKey.get(from);
    if (to === undefined) valuesByKey.set(from, (to = make(from)));
    return to;
  };
}

let ruleCount = 0;

const toProductRule = memoise((rule: ModelRule): Rule => {
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

const toWalkedCall = (call: ModelCall): WalkedCall => ({
  ...toProductCall(call),
  budget: createDecisionBudget(),
});

const toProductCall = memoise(
  ({
    keys,
    otherNames,
    risk,
    service,
    credentials,
    isOpenRead,
  }: ModelCall): Omit<WalkedCall, 'budget'> => ({
    keys: keys.map(toDerivedKey),
    risk,
    serviceId: service,
    credentialIds: credentials,
    isOpenRead,
    denyNames: otherNames.map(({ segments: [name, action, arg], risk }) => ({
      service: name,
      action,
      args: arg === undefined ? undefined : [arg],
      risk,
    })),
  }),
);

const toDerivedKey = memoise((segments: Segments) => {
  const [service, action, arg] = segments;
  return { key: segments.join(':'), service, action, arg };
});

const linkOf = memoise(({ id, parent, inherits }: ModelIdentity): ChainLink => ({
  id,
  name: id,
  kind: parent === null ? 'user' : parent.parent === null ? 'agent' : 'subagent',
  inheritPermissions: inherits,
}));

const chainOf = memoise((identity: ModelIdentity) =>
  identitiesUpToUser(identity).toReversed().map(linkOf),
);

/**
 * Rules made by self-approval name one of two OAuth clients. Self-approval is switched on for every
 * agent with the first client, and for no agent with the second client.
 */
const switchesOf = memoise(
  (identity: ModelIdentity) =>
    new Set(chainOf(identity).map(({ id }) => switchOf(id, 'switched-on'))),
);

function describeWorld({ caller, others, rules, call }: World): string {
  const pathOf = (identity: ModelIdentity) =>
    chainOf(identity)
      .map(({ id, inheritPermissions }) => (inheritPermissions ? `${id}+` : id))
      .join(' > ');
  const namesText = call.otherNames.map(({ segments, risk }) => `${segments.join(':')} (${risk})`);
  return [
    `${pathOf(caller)} calls ${call.keys.map((key) => key.join(':')).join(' and ')}, ${call.risk}${call.isOpenRead ? ', an open read' : ''}`,
    ...namesText.map((name) => `  for denies also ${name}`),
    ...others.map((other) => `  beside it ${pathOf(other)}`),
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
