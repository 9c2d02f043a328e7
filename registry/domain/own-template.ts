import type { TemplateStatus } from '#contracts/http/templates';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { TemplateOutline } from './outline.ts';

/** What names a template of a user or of an org. */
export interface TemplateName {
  readonly orgId: string;
  readonly tier: Tier;
  /** The user, or the org itself. */
  readonly ownerId: string;
  readonly key: string;
}

export interface OwnTemplate extends TemplateName {
  /** Saved last. */
  readonly version: number;
  readonly publishedVersion: number | null;
  readonly isDisabled: boolean;
  readonly updatedAt: Date;
}

/** A template of any tier, as somebody may see it. */
export interface KnownTemplate {
  /** Of the published version; of the latest while there is none. */
  readonly outline: TemplateOutline;
  /** Null for built-in ones. */
  readonly own: OwnTemplate | null;
}

/** A template of the org, or of the caller's user. */
export function nameOf({ orgId, userId }: Principal, tier: Tier, key: string): TemplateName {
  return { orgId, tier, ownerId: tier === 'org' ? orgId : userId, key };
}

export function statusOf(own: OwnTemplate | null): TemplateStatus {
  if (own === null) return 'published';
  if (own.isDisabled) return 'disabled';
  return own.publishedVersion === null ? 'draft' : 'published';
}

/** Agents use templates and never write them; auditors change nothing (docs/reference/templates.md#templates). */
export function checkMayWrite(caller: Principal, tier: Tier): void {
  if (caller.kind !== 'user') {
    throw new AppError('forbidden', 'Agents do not change templates; ask the person you work for.');
  }
  if (caller.role === 'auditor')
    throw new AppError('forbidden', 'Your role does not change anything.');
  if (tier === 'org' && caller.role !== 'admin') {
    const message = 'Only an admin changes templates of the org; save your own with tier "user".';
    throw new AppError('forbidden', message);
  }
}

/** Who writes a template sees its drafts, and auditors see those of the org; others what is published. */
export function maySee(caller: Principal, own: OwnTemplate | null): boolean {
  return statusOf(own) === 'published' || maySeeDrafts(caller, own);
}

/** Versions saved after the published one are drafts too. */
export function maySeeVersion(
  caller: Principal,
  own: OwnTemplate | null,
  version: number,
): boolean {
  return version <= (own?.publishedVersion ?? 0) || maySeeDrafts(caller, own);
}

function maySeeDrafts(caller: Principal, own: OwnTemplate | null): boolean {
  if (own === null) return true;
  if (caller.kind !== 'user') return false;
  return own.tier === 'user' || caller.role === 'admin' || caller.role === 'auditor';
}
