import type { Remember } from './decision.ts';

/** The clocks of two components may differ by this much when a rule's own end is asked for. */
const toleranceMs = 60_000;

interface Bounds {
  /** When the decider's own authority ends; null for never. */
  readonly until: Date | null;
  readonly defaultTtlSeconds: number;
}

/**
 * Whether a remembered rule would outlive the authority it is given by. A ttl that nobody asked
 * for is shortened instead.
 */
export function outlives(
  ttlSeconds: Remember['ttlSeconds'],
  { until, nowMs }: { until: Date | null; nowMs: number },
): boolean {
  if (until === null || typeof ttlSeconds !== 'number') return false;
  return nowMs + ttlSeconds * 1000 > until.getTime() + toleranceMs;
}

/** Whether a self-approving client asks for more than the org lets it remember (decisions: Who may resolve). */
export function exceedsSelfMax(ttlSeconds: Remember['ttlSeconds'], maxSeconds: number): boolean {
  return ttlSeconds === 'forever' || (typeof ttlSeconds === 'number' && ttlSeconds > maxSeconds);
}

/** When a rule remembered at `resolvedAt` ends; null for never. */
export function ruleExpiry(
  ttlSeconds: Remember['ttlSeconds'],
  resolvedAt: Date,
  { until, defaultTtlSeconds }: Bounds,
): Date | null {
  if (ttlSeconds === 'forever') return until;
  const seconds = ttlSeconds === 'default' ? defaultTtlSeconds : ttlSeconds;
  const asked = new Date(resolvedAt.getTime() + seconds * 1000);
  return until !== null && until < asked ? until : asked;
}
