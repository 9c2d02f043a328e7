import type { Risk } from '#contracts/vocabulary';
import type { Pattern } from '#permission-key';

/** A rule in force, with the fields that the permission walk needs. */
export interface Rule {
  readonly id: string;
  /** The identity that the rule is on; null for a rule on the whole org. */
  readonly identityId: string | null;
  readonly effect: 'allow' | 'deny';
  readonly pattern: Pattern;
  /**
   * Set if a decision created the rule: the rule then applies only to calls of this service with
   * this credential.
   */
  readonly serviceId: string | null;
  readonly credentialId: string | null;
  readonly riskAtLeast: Risk | null;
  /**
   * Set if an agent made the rule by self-approval: the OAuth client that the agent used. The rule
   * applies only while self-approval is switched on for this client.
   */
  readonly viaClientId: string | null;
  /**
   * The ids of the identities from the creator's user down to the creator. A chain never changes.
   */
  readonly creatorChain: readonly string[];
  readonly expiresAtMs: number | null;
}

export function creatorOf({ creatorChain }: Rule): string {
  return creatorChain.at(-1) ?? '';
}

/** Whether an agent or subagent made the rule, by allowing a call of one of its descendants. */
export function isAgentMade({ creatorChain }: Rule): boolean {
  return creatorChain.length > 1;
}
