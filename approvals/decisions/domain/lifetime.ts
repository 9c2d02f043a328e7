import type { RememberOptions } from './decision.ts';

/**
 * How far the clocks of two components may differ. The tolerance matters when a decision asks for
 * the same end as the decider's own rule has.
 */
const clockToleranceMs = 60_000;

/**
 * Whether a remembered rule would outlive the authority of the agent that decides. A default ttl
 * does not count: policy shortens it.
 */
export function outlivesAuthority(
  ttlSeconds: RememberOptions['ttlSeconds'],
  { authorityEndsAt: until, nowMs }: { authorityEndsAt: Date | null; nowMs: number },
): boolean {
  if (until === null || typeof ttlSeconds !== 'number') return false;
  return nowMs + ttlSeconds * 1000 > until.getTime() + clockToleranceMs;
}
