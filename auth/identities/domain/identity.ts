import type { IdentityKind, Role } from '#contracts/vocabulary';

export type IdentityStatus = 'active' | 'archived' | 'revoked';

export interface Identity {
  readonly id: string;
  readonly orgId: string;
  readonly kind: IdentityKind;
  readonly name: string;
  readonly parentId: string | null;
  readonly ownerId: string;
  readonly depth: number;
  /** The ids of its chain, from the user down to the identity itself. */
  readonly lineage: readonly string[];
  /** The names of its chain, from the user down to the identity itself. */
  readonly path: readonly string[];
  /** The display name of the user at the start of the path. */
  readonly displayName: string | null;
  readonly inheritPermissions: boolean;
  readonly autoCallOnApprove: boolean;
  readonly status: IdentityStatus;
  /**
   * The rank of the caller who archived the identity (`rankOver` in access.ts); null if it is not
   * archived. If an archived identity has no rank, it is treated as archived by an admin.
   */
  readonly archivedRank: number | null;
  readonly role: Role | null;
  readonly email: string | null;
  readonly createdBy: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly lastActiveAt: Date | null;
}

/** One identity in a chain, with the fields that decide whether the identity may act. */
export interface LiveLink {
  readonly id: string;
  readonly kind: IdentityKind;
  readonly name: string;
  readonly inheritPermissions: boolean;
  readonly status: IdentityStatus;
  readonly expired: boolean;
  /** Null for agents and subagents: only users have a role. */
  readonly role: Role | null;
}

/** The status of a whole chain. An identity may act only while it and all its ancestors may act. */
export type Standing = 'active' | 'archived' | 'expired' | 'revoked';

/**
 * Returns the most severe status in the chain. Agents of an auditor are treated as archived: they
 * may act again when the user gets another role (docs/reference/identities.md#standing).
 */
export function standingOf(links: readonly LiveLink[]): Standing {
  if (links.some((link) => link.status === 'revoked')) return 'revoked';
  if (links.some((link) => link.expired)) return 'expired';
  if (links.some((link) => link.status === 'archived')) return 'archived';
  return actsForAuditor(links) ? 'archived' : 'active';
}

/**
 * Whether the chain leads to an agent of an auditor. An auditor may change nothing, so the agents
 * of an auditor may not act.
 */
export function actsForAuditor([user, ...below]: readonly LiveLink[]): boolean {
  return user?.role === 'auditor' && below.length > 0;
}

export const identityDepthMax = 8;
export const subagentsPerAgentMax = 64;
export const agentsPerUserMax = 1_000;
export const keysPerIdentityMax = 20;
export const subagentTtlSecondsMax = 365 * 86_400;
