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
  /** Ids from its user down to itself. */
  readonly lineage: readonly string[];
  /** Names from its user down to itself. */
  readonly path: readonly string[];
  readonly inheritPermissions: boolean;
  readonly autoCallOnApprove: boolean;
  readonly status: IdentityStatus;
  /** While archived: how high whoever did it stands (domain/access.ts). Null: an admin. */
  readonly archivedRank: number | null;
  readonly role: Role | null;
  readonly email: string | null;
  readonly createdBy: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
  readonly lastActiveAt: Date | null;
}

/** One link of a chain with what decides whether it may act. */
export interface LiveLink {
  readonly id: string;
  readonly kind: IdentityKind;
  readonly name: string;
  readonly inheritPermissions: boolean;
  readonly status: IdentityStatus;
  readonly expired: boolean;
  /** Of a user; agents have none. */
  readonly role: Role | null;
}

/** How a whole chain stands: an identity acts only while it and every ancestor may. */
export type Standing = 'active' | 'archived' | 'expired' | 'revoked';

/**
 * The worst standing in the chain. A revoked identity never comes back; an archived one may, and so
 * may the agents of an auditor, who do not act (docs/reference/identities.md#standing).
 */
export function standingOf(links: readonly LiveLink[]): Standing {
  if (links.some((link) => link.status === 'revoked')) return 'revoked';
  if (links.some((link) => link.expired)) return 'expired';
  if (links.some((link) => link.status === 'archived')) return 'archived';
  return actsForAuditor(links) ? 'archived' : 'active';
}

/** What an auditor may not do it may not have done either: its agents act for it. */
export function actsForAuditor([user, ...below]: readonly LiveLink[]): boolean {
  return user?.role === 'auditor' && below.length > 0;
}

export const depthMax = 8;
export const subagentsPerAgentMax = 64;
export const agentsPerUserMax = 1_000;
export const keysPerIdentityMax = 20;
export const subagentTtlSecondsMax = 365 * 86_400;
