import type { DerivedKey } from '#contracts/permit';
import type { ChainLink } from '#contracts/vocabulary';
import { coversAllOf, matchesKey } from '#permission-key';
import type { Pattern } from '#permission-key';
import { creatorOf, isAgentMade } from '../../rules/domain/rule.ts';
import type { Rule } from '../../rules/domain/rule.ts';
import { switchOf } from './chain-rules.ts';
import type { ChainRules, RulesByIdentity } from './chain-rules.ts';
import { findDenialOrUnknown, appliesToRisk } from './denial.ts';
import type { WalkedCall } from './denial.ts';

/**
 * What a rule must cover: a permission key of the call, or a pattern that an agent wants to pass
 * on.
 */
export type CoverNeed =
  | { readonly kind: 'key'; readonly key: DerivedKey }
  | { readonly kind: 'pattern'; readonly pattern: Pattern };

/**
 * What allows a permission key: a rule or the read allowance. Null means that nothing allows the
 * key. The key is then part of the permission gap.
 */
export type Cover = { readonly by: 'rule'; readonly rule: Rule } | { readonly by: 'read' } | null;

interface CoverQuestion {
  readonly rulesByIdentity: RulesByIdentity;
  readonly call: WalkedCall;
  readonly need: CoverNeed;
}

/**
 * Steps 2 and 3 of the permission walk, with this identity as the caller. Step 1, the search for
 * deny rules, was done before.
 */
export function findCover(question: CoverQuestion, identityId: string): Cover {
  const chainRules = chainRulesOf(question.rulesByIdentity, identityId);
  return chainRules === undefined
    ? null
    : findCoverIn(question, chainRules, createTrustTest(question));
}

/**
 * An identity's *authority* over a permission key or pattern: what steps 1 to 3 of the permission
 * walk would allow this identity as the caller, ignoring rules that the identity or its descendants
 * made. Not for users, whose authority has no limit (docs/reference/permissions.md#authority).
 */
export function findAuthority(question: CoverQuestion, identityId: string): Cover {
  const chainRules = chainRulesOf(question.rulesByIdentity, identityId);
  if (chainRules === undefined) return null;
  return findAuthorityIn(question, chainRules, createTrustTest(question));
}

type IsTrustedMaker = (creatorId: string) => boolean;

function findAuthorityIn(
  question: CoverQuestion,
  chainRules: ChainRules,
  isTrustedMaker: IsTrustedMaker,
): Cover {
  if (isDenied(question, chainRules)) return null;
  const id = chainRules.chain.at(-1)?.id ?? '';
  const foreignRules = chainRules.rules.filter((rule) => !rule.creatorChain.includes(id));
  return findCoverIn(question, { ...chainRules, rules: foreignRules }, isTrustedMaker);
}

/**
 * Whether deny rules refuse a call, by identity. Cached, because each permission key of a call
 * needs the answer, and so does each round of `trust`.
 */
const knownDenials = new WeakMap<RulesByIdentity, WeakMap<WalkedCall, Map<string, boolean>>>();

/** Whether a deny rule refuses the call. Also true when the budget is too small to find out. */
function isDenied({ rulesByIdentity, call }: CoverQuestion, chainRules: ChainRules): boolean {
  const denialsByCall =
    knownDenials.get(rulesByIdentity) ?? new WeakMap<WalkedCall, Map<string, boolean>>();
  const deniedById = denialsByCall.get(call) ?? new Map<string, boolean>();
  knownDenials.set(rulesByIdentity, denialsByCall.set(call, deniedById));
  const id = chainRules.chain.at(-1)?.id ?? '';
  const isDenied = deniedById.get(id) ?? findDenialOrUnknown(chainRules, call) !== undefined;
  deniedById.set(id, isDenied);
  return isDenied;
}

/**
 * Finds the rule that covers the permission key. Of several rules, returns the one that expires
 * last, because an agent can pass the key on only until that rule expires.
 */
function findCoverIn(
  question: CoverQuestion,
  chainRules: ChainRules,
  isTrustedMaker: IsTrustedMaker,
): Cover {
  const reach = new Set(reachOf(chainRules.chain));
  let bestRule: Rule | undefined;
  for (const rule of chainRules.rules) {
    if (rule.identityId !== null && !reach.has(rule.identityId)) continue;
    if (!appliesTo(rule, question) || !outlasts(rule, bestRule)) continue;
    if (!isSwitchedOn(rule, chainRules)) continue;
    if (isAgentMade(rule) && !isTrustedMaker(creatorOf(rule))) continue;
    bestRule = rule;
    if (rule.expiresAtMs === null) break;
  }
  if (bestRule !== undefined) return { by: 'rule', rule: bestRule };
  return isCoveredRead(question, chainRules.chain) ? { by: 'read' } : null;
}

/**
 * Whether the rule counts. A rule that an agent made by self-approval counts only while
 * self-approval is switched on for its client.
 */
function isSwitchedOn({ viaClientId, identityId }: Rule, { selfApproving }: ChainRules): boolean {
  return viaClientId === null || selfApproving.has(switchOf(identityId ?? '', viaClientId));
}

/**
 * Decides whether the maker of a rule is trusted. A rule that an agent made counts only while the
 * agent's own authority still covers the permission key; then the agent is trusted. The trusted
 * makers are the smallest set with this property, so agents whose rules only support each other are
 * not in it. The set is computed at the first rule that an agent made, because most calls meet no
 * such rule.
 */
function createTrustTest(question: CoverQuestion): IsTrustedMaker {
  let trustedIds: Set<string> | undefined;
  return (creatorId) => {
    trustedIds ??= findTrustedIds(question);
    return trustedIds.has(creatorId);
  };
}

function findTrustedIds(question: CoverQuestion): Set<string> {
  const allRules = [...question.rulesByIdentity.values()].flatMap(({ rules }) => rules);
  const relevantRules = allRules.filter((rule) => isAgentMade(rule) && appliesTo(rule, question));
  const waitingChains = new Map(
    [...new Set(relevantRules.map(creatorOf))].flatMap((id) => {
      const chainRules = chainRulesOf(question.rulesByIdentity, id);
      return chainRules === undefined ? [] : [[id, chainRules] as const];
    }),
  );
  const trustedIds = new Set<string>();
  let trustedCountBefore = -1;
  while (trustedCountBefore < trustedIds.size) {
    trustedCountBefore = trustedIds.size;
    for (const [id, chainRules] of waitingChains) {
      if (findAuthorityIn(question, chainRules, (creator) => trustedIds.has(creator)) === null)
        continue;
      trustedIds.add(id);
      waitingChains.delete(id);
    }
  }
  return trustedIds;
}

/**
 * Whether the rule covers the permission key or pattern. False if the budget is too small to find
 * out.
 */
function appliesTo(rule: Rule, { call, need }: CoverQuestion): boolean {
  const { budget } = call;
  if (rule.effect !== 'allow') return false;
  budget.left -= 1;
  if (budget.left < 0) return false;
  if (rule.serviceId !== null && rule.serviceId !== call.serviceId) return false;
  if (rule.credentialId !== null && !call.credentialIds.includes(rule.credentialId)) return false;
  if (!appliesToRisk(rule, call.risk)) return false;
  return need.kind === 'key'
    ? matchesKey(rule.pattern, need.key, budget)
    : coversAllOf(rule.pattern, need.pattern, budget);
}

function outlasts(rule: Rule, bestRule: Rule | undefined): boolean {
  if (bestRule === undefined) return true;
  if (bestRule.expiresAtMs === null) return false;
  return rule.expiresAtMs === null || rule.expiresAtMs > bestRule.expiresAtMs;
}

/**
 * Step 2 of the permission walk: the identities whose rules count. They are the caller and, as long
 * as the last one found inherits, its parent. An agent always inherits from its user.
 */
export function reachOf(chain: readonly ChainLink[]): string[] {
  const reach: string[] = [];
  for (const link of chain.toReversed()) {
    reach.push(link.id);
    if (link.kind === 'subagent' && !link.inheritPermissions) break;
  }
  return reach;
}

/**
 * Step 3 of the permission walk: whether reads need no rule. The reads of an agent need none. The
 * reads of a subagent need none if the subagent and all subagents above it inherit.
 */
export function inheritsReads(chain: readonly ChainLink[]): boolean {
  return chain.every(({ kind, inheritPermissions }) => kind !== 'subagent' || inheritPermissions);
}

function isCoveredRead({ call, need }: CoverQuestion, chain: readonly ChainLink[]): boolean {
  if (!call.isOpenRead || !inheritsReads(chain)) return false;
  if (need.kind === 'key') return call.keys.some(({ key }) => key === need.key.key);
  // The read allowance covers only the called action, so a broader pattern is not covered.
  const { exact, text, service, action } = need.pattern;
  return call.keys.some((key) =>
    exact ? text === key.key : service === key.service && action === key.action,
  );
}

/**
 * The rules for an identity. Either the identity's rules were loaded, or it is on the chain of an
 * identity whose rules were loaded.
 */
function chainRulesOf(
  rulesByIdentity: RulesByIdentity,
  identityId: string,
): ChainRules | undefined {
  const ownRules = rulesByIdentity.get(identityId);
  if (ownRules !== undefined) return ownRules;
  for (const { chain, rules, selfApproving } of rulesByIdentity.values()) {
    const index = chain.findIndex(({ id }) => id === identityId);
    if (index < 0) continue;
    const chainAbove = chain.slice(0, index + 1);
    const ids = new Set(chainAbove.map(({ id }) => id));
    return {
      chain: chainAbove,
      rules: rules.filter(({ identityId }) => identityId === null || ids.has(identityId)),
      selfApproving,
    };
  }
  return undefined;
}
