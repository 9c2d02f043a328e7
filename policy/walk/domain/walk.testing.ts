import type { ChainLink, IdentityKind } from '#contracts/vocabulary';
import { actionKey, compilePattern } from '#permission-key';
import type { Rule } from '../../rules/domain/rule.ts';
import type { ChainRules, RulesByIdentity } from './chain-rules.ts';
import { createDecisionBudget } from './denial.ts';
import type { WalkedCall } from './denial.ts';

/**
 * A chain of identities, created from their names: the user, an agent, then subagents. A `+` after
 * a name marks a subagent that inherits.
 */
export function chainOf(...names: string[]): ChainLink[] {
  return names.map((text, index) => ({
    id: text.replace('+', ''),
    name: text.replace('+', ''),
    kind: (['user', 'agent'] as const satisfies IdentityKind[])[index] ?? 'subagent',
    inheritPermissions: text.endsWith('+'),
  }));
}

let count = 0;

/** A rule `allow github:*:*` on an identity, made by its user unless `more` says otherwise. */
export function ruleOn(
  identityId: string | null,
  text: `${'allow' | 'deny'} ${string}`,
  more: Partial<Rule> = {},
): Rule {
  const [effect, pattern = ''] = text.split(' ');
  count += 1;
  return {
    id: `rule-${count}`,
    identityId,
    effect: effect === 'deny' ? 'deny' : 'allow',
    pattern: compilePattern(pattern, false),
    serviceId: null,
    credentialId: null,
    riskAtLeast: null,
    viaClientId: null,
    creatorChain: ['ann'],
    expiresAtMs: null,
    ...more,
  };
}

export function createChainRules(
  chain: ChainLink[],
  rules: readonly Rule[],
  selfApproving: string[] = [],
): ChainRules {
  return { chain, rules, selfApproving: new Set(selfApproving) };
}

export function createRulesByIdentity(...allChainRules: ChainRules[]): RulesByIdentity {
  return new Map(allChainRules.map((each) => [each.chain.at(-1)?.id ?? '', each]));
}

export const createIssue = actionKey('github', 'issues.create', 'acme/site');

/** A call that writes, with the permission key `github:issues.create:acme/site`. */
export function callOf(more: Partial<WalkedCall> = {}): WalkedCall {
  return {
    keys: [createIssue],
    risk: 'write',
    serviceId: 'service-1',
    credentialIds: ['secret-1'],
    isOpenRead: false,
    denyNames: [],
    budget: createDecisionBudget(),
    ...more,
  };
}
