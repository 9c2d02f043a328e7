import type { ChainLink, Risk } from '#contracts/vocabulary';
import type { Pattern } from '#permission-key';

/** A live rule as the walk needs it. */
export interface Rule {
  readonly id: string;
  /** Null: the whole org. */
  readonly identityId: string | null;
  readonly effect: 'allow' | 'deny';
  readonly pattern: Pattern;
  /** Set when planted by an approval: another service or credential does not inherit it. */
  readonly serviceId: string | null;
  readonly credentialId: string | null;
  readonly riskAtLeast: Risk | null;
  /** Made by self-approval of this client: counts only while its switch is on. */
  readonly viaClientId: string | null;
  /** The creator's chain, the user first and the creator last. The tree of identities never changes. */
  readonly creatorChain: readonly string[];
  readonly expiresAtMs: number | null;
}

/** An identity as it stands now: its chain, and every live rule of the org and of that chain. */
export interface Standing {
  readonly chain: readonly ChainLink[];
  readonly rules: readonly Rule[];
  /** Which client's switch is on for which identity of the chain, each as `switchOf` writes it. */
  readonly selfApproving: ReadonlySet<string>;
}

/** By identity: the caller's own, and those of agents off its chain that made rules on it. */
export type Standings = ReadonlyMap<string, Standing>;

/** A client's `self_approve_enabled` on an agent. Ids hold no spaces. */
export function switchOf(agentId: string, clientId: string): string {
  return `${agentId} ${clientId}`;
}

export function creatorOf({ creatorChain }: Rule): string {
  return creatorChain.at(-1) ?? '';
}

/** Made by an agent or subagent by allowing a descendant's approval; else by a user. */
export function isAgentMade({ creatorChain }: Rule): boolean {
  return creatorChain.length > 1;
}

/** Agents that made rules on this chain without standing on it themselves. */
export function creatorsElsewhere({ chain, rules }: Standing): string[] {
  const onChain = new Set(chain.map(({ id }) => id));
  const creators = rules
    .filter((rule) => rule.effect === 'allow' && isAgentMade(rule))
    .map(creatorOf);
  return [...new Set(creators.filter((id) => !onChain.has(id)))];
}
