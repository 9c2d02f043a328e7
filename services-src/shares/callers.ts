import type { Component } from '../contracts/vocabulary.ts';
import { AppError } from '#errors';
import type { Level } from './room.ts';

/** Who calls, as permits, gaps and principals say it. */
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

/** What calls are shared out by, with the parts that the settings name. */
export function callerLevels(settings: SharePercents): readonly Level<CallerLevel>[] {
  return [
    { name: 'org', percent: settings.SHARE_ORG_PERCENT },
    { name: 'user', percent: settings.SHARE_USER_PERCENT },
    { name: 'identity', percent: settings.SHARE_IDENTITY_PERCENT },
  ];
}

/** The way to a caller through the levels. */
export function callerPath({ orgId, userId, identityId }: CallerIds): readonly string[] {
  return [orgId, userId, identityId];
}

/** Calls end all the time; those that hang do so for a minute or two. */
const retrySeconds = 5;

/**
 * There is room, but this caller, its user, its org or what it asks for holds too much of it already.
 * `busy` tells other components that nothing was done, and that another replica may have room.
 */
export function overShare(
  level: CallerLevel | 'upstream',
  { what, component }: { readonly what: string; readonly component: Component },
): AppError {
  const whose = level === 'upstream' ? 'to this upstream' : `of this ${level}`;
  return new AppError(
    'rate_limited',
    `Too many ${what} ${whose} are under way; wait until some have ended and try again.`,
    { details: { component, busy: true, retry_after: retrySeconds } },
  );
}
