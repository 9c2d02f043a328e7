import type { Component } from '../contracts/vocabulary.ts';
import { AppError } from '#errors';
import type { Level } from './room.ts';

/**
 * The ids of the caller's org, user and identity, with the field names of permits, permission gaps
 * and principals.
 */
export interface CallerIds {
  readonly orgId: string;
  readonly userId: string;
  readonly identityId: string;
}

export type CallerLevel = 'org' | 'user' | 'identity';

export interface SharePercents {
  readonly SHARE_ORG_PERCENT: number;
  readonly SHARE_USER_PERCENT: number;
  readonly SHARE_IDENTITY_PERCENT: number;
}

/** The levels (org, user, identity) between which capacity is shared, with their percentages. */
export function callerLevelsOf(settings: SharePercents): readonly Level<CallerLevel>[] {
  return [
    { name: 'org', percent: settings.SHARE_ORG_PERCENT },
    { name: 'user', percent: settings.SHARE_USER_PERCENT },
    { name: 'identity', percent: settings.SHARE_IDENTITY_PERCENT },
  ];
}

/** The ids of the org, the user and the identity that a caller belongs to, outermost first. */
export function callerPathOf({ orgId, userId, identityId }: CallerIds): readonly string[] {
  return [orgId, userId, identityId];
}

/**
 * The wait that a refused caller is told. It is short, because running calls end all the time; even
 * a call that hangs ends after a minute or two.
 */
const retrySeconds = 5;

/**
 * The error for a caller whose org, user, identity or upstream already holds its full share,
 * although the pool is not full. `busy` tells other components that this replica did nothing with
 * the call and that another replica may have room.
 */
export function overShare(
  level: CallerLevel | 'upstream',
  { what, component }: { readonly what: string; readonly component: Component },
): AppError {
  const limitText = level === 'upstream' ? 'to this upstream' : `of this ${level}`;
  return new AppError(
    'rate_limited',
    `Too many ${what} ${limitText} are under way; wait until some have ended and try again.`,
    { details: { component, busy: true, retry_after: retrySeconds } },
  );
}
