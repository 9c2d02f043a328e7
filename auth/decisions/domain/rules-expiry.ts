import type { OrgSettings } from '#contracts/bus/auth';
import { AppError } from '#errors';
import { parseTtl } from '#ttl';

/** The lifetime that the decider requests for the rules that remember the decision. */
export interface RequestedLifetime {
  readonly ttl: string | null;
  /** True if the rules never expire, unless `ttl` is given. */
  readonly forever: boolean;
  /** True if the decider is also the requester of the approval. */
  readonly isSelf: boolean;
}

/** The time at which remembered rules expire, in milliseconds since the epoch; null for never. */
export function rulesExpiryOf(
  { ttl, forever, isSelf }: RequestedLifetime,
  {
    settings,
    now,
  }: {
    settings: Pick<OrgSettings, 'rememberTtlSeconds' | 'selfRememberMaxSeconds'>;
    now: number;
  },
): number | null {
  const requestedSeconds = ttl === null ? null : parseTtl(ttl);
  const rememberSecondsMax = isSelf ? settings.selfRememberMaxSeconds : Infinity;
  const isEndless = requestedSeconds === null && forever;
  if (isSelf && (isEndless || (requestedSeconds ?? 0) > rememberSecondsMax))
    throw exceedsSelfMaxError(rememberSecondsMax);
  if (isEndless) return null;
  return (
    now + (requestedSeconds ?? Math.min(settings.rememberTtlSeconds, rememberSecondsMax)) * 1000
  );
}

function exceedsSelfMaxError(maxSeconds: number): AppError {
  const message = `must be given, and be ${maxSeconds} seconds at most`;
  return new AppError(
    'exceeds_authority',
    'You may allow only what your own rules allow you, and for no longer; bubble it to your user instead.',
    { details: { max_ttl_seconds: maxSeconds, issues: [{ path: 'ttl', message }] } },
  );
}
