import type { TemplateStatus } from '#contracts/http/templates';
import type { Principal, Tier } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { TemplateOutline } from './outline.ts';

/** Identifies a template that belongs to a user or an org. */
export interface TemplateName {
  readonly orgId: string;
  readonly tier: Tier;
  /** The id of the user or of the org that owns the template. */
  readonly ownerId: string;
  readonly key: string;
}

export interface OwnTemplate extends TemplateName {
  /** The latest version: the one that was saved last. */
  readonly version: number;
  readonly publishedVersion: number | null;
  readonly isDisabled: boolean;
  readonly updatedAt: Date;
}

/** A template of any tier (user, org or global) that the caller may see. */
export interface VisibleTemplate {
  /** The outline of the published version, or else of the latest version. */
  readonly outline: TemplateOutline;
  /** The stored template; null for a built-in template. */
  readonly own: OwnTemplate | null;
}

/** Identifies a template of the caller's user or of the caller's org, depending on the tier. */
export function templateNameOf(
  { orgId, userId }: Principal,
  tier: Tier,
  key: string,
): TemplateName {
  return { orgId, tier, ownerId: tier === 'org' ? orgId : userId, key };
}

export function templateStatusOf(ownTemplate: OwnTemplate | null): TemplateStatus {
  if (ownTemplate === null) return 'published';
  if (ownTemplate.isDisabled) return 'disabled';
  return ownTemplate.publishedVersion === null ? 'draft' : 'published';
}

/**
 * Throws `forbidden` when the caller may not write templates: agents may only use them, and
 * auditors may not change anything (docs/reference/templates.md#templates).
 */
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

/**
 * Whether the caller may see a template. A published template is visible to all callers. A draft is
 * visible to those who may write it, and a draft of the org also to auditors.
 */
export function maySeeTemplate(caller: Principal, ownTemplate: OwnTemplate | null): boolean {
  return templateStatusOf(ownTemplate) === 'published' || maySeeDrafts(caller, ownTemplate);
}

/** Whether the caller may see a version. Versions after the published one are drafts, too. */
export function maySeeVersion(
  caller: Principal,
  ownTemplate: OwnTemplate | null,
  version: number,
): boolean {
  return version <= (ownTemplate?.publishedVersion ?? 0) || maySeeDrafts(caller, ownTemplate);
}

function maySeeDrafts(caller: Principal, ownTemplate: OwnTemplate | null): boolean {
  if (ownTemplate === null) return true;
  if (caller.kind !== 'user') return false;
  return ownTemplate.tier === 'user' || caller.role === 'admin' || caller.role === 'auditor';
}
