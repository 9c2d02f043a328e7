import type { Risk } from '#contracts/vocabulary';
import type { Pattern } from '#permission-key';

/** A rule in force, with the fields that the walk needs. */
export interface Rule {
  readonly id: string;
  /** The identity that the rule is on; null for a rule on the whole org. */
  readonly identityId: string | null;
  readonly effect: 'allow' | 'deny';
  readonly pattern: Pattern;
  /**
   * The service, if an approval planted the rule. The rule then holds only for this service and
   * this credential.
   */
  readonly serviceId: string | null;
  readonly credentialId: string | null;
  readonly riskAtLeast: Risk | null;
  /**
   * The OAuth client through which an agent made the rule by self-approval. The rule holds while
   * self-approval is switched on for this client.
   */
  readonly viaClientId: string | null;
  /** The ids of the identities from the creator's user down to the creator. Chains never change. */
  readonly creatorChain: readonly string[];
  readonly expiresAtMs: number | null;
}

export function creatorOf({ creatorChain }: Rule): string {
  return creatorChain.at(-1) ?? '';
}

/** Whether an agent or subagent made the rule, by allowing the approval of a descendant. */
export function isAgentMade({ creatorChain }: Rule): boolean {
  return creatorChain.length > 1;
}
