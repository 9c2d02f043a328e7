import type { OrgSettings } from '#contracts/bus/auth';
import { readTtl } from '#contracts/ttl';
import { AppError } from '#errors';

/** How long the decider wants the rules to live. */
export interface Remembering {
  readonly ttl: string | null;
  /** No end unless a ttl says one. */
  readonly forever: boolean;
  /** The requester decides for itself. */
  readonly isSelf: boolean;
}

/** When remembered rules end, in milliseconds since the epoch; null for never. */
export function rememberedEnd(
  { ttl, forever, isSelf }: Remembering,
  {
    settings,
    now,
  }: {
    settings: Pick<OrgSettings, 'rememberTtlSeconds' | 'selfRememberMaxSeconds'>;
    now: number;
  },
): number | null {
  const asked = ttl === null ? null : secondsOf(ttl);
  const max = isSelf ? settings.selfRememberMaxSeconds : Infinity;
  const isEndless = asked === null && forever;
  if (isSelf && (isEndless || (asked ?? 0) > max)) throw exceedsSelfMax(max);
  if (isEndless) return null;
  return now + (asked ?? Math.min(settings.rememberTtlSeconds, max)) * 1000;
}

function secondsOf(ttl: string): number {
  const read = readTtl(ttl);
  if ('seconds' in read) return read.seconds;
  throw new AppError('invalid_params', `The ttl ${read.problem}.`, {
    details: { issues: [{ path: 'ttl', message: read.problem, expected: '1m to 365d' }] },
  });
}

function exceedsSelfMax(maxSeconds: number): AppError {
  const message = `must be given, and be ${maxSeconds} seconds at most`;
  return new AppError(
    'exceeds_authority',
    'You may allow only what your own rules allow you, and for no longer; bubble it to your user instead.',
    { details: { max_ttl_seconds: maxSeconds, issues: [{ path: 'ttl', message }] } },
  );
}
