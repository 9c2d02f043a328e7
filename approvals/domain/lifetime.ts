import type { Remember } from './decision.ts';

/** The clocks of two components may differ by this much when a rule's own end is asked for. */
const toleranceMs = 60_000;

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
