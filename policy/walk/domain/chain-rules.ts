import type { ChainLink } from '#contracts/vocabulary';
import type { Pattern } from '#permission-key';
import { creatorOf, isAgentMade } from '../../rules/domain/rule.ts';
import type { Rule } from '../../rules/domain/rule.ts';

/** The current chain of an identity, with every rule in force on the org and on that chain. */
export interface ChainRules {
  readonly chain: readonly ChainLink[];
  readonly rules: readonly Rule[];
  /**
   * The pairs of agent and OAuth client for which self-approval is switched on, in the form that
   * `switchOf` returns.
   */
  readonly selfApproving: ReadonlySet<string>;
}

/**
 * The chain rules by identity id: those of the caller, and those of agents that made rules on the
 * caller's chain without being on it.
 */
export type RulesByIdentity = ReadonlyMap<string, ChainRules>;

/**
 * One text for a pair of agent and OAuth client. It stands for the switch `self_approve_enabled` of
 * the pair. Ids contain no spaces, so two pairs cannot give the same text.
 */
export function switchOf(agentId: string, clientId: string): string {
  return `${agentId} ${clientId}`;
}

/** The agents that made rules on this chain but are not on it themselves. */
export function creatorsElsewhereOf({ chain, rules }: ChainRules): string[] {
  const chainIds = new Set(chain.map(({ id }) => id));
  const creators = rules
    .filter((rule) => rule.effect === 'allow' && isAgentMade(rule))
    .map(creatorOf);
  return [...new Set(creators.filter((id) => !chainIds.has(id)))];
}

/** The patterns of all deny rules in the map. */
export function denyPatternsIn(rulesByIdentity: RulesByIdentity): readonly Pattern[] {
  const denyPatterns = new Set<Pattern>();
  for (const { rules } of rulesByIdentity.values()) {
    for (const { effect, pattern } of rules) if (effect === 'deny') denyPatterns.add(pattern);
  }
  return [...denyPatterns];
}
