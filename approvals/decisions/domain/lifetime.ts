import type { RememberOptions } from './decision.ts';

/**
 * How far the clocks of two components may differ. The difference matters when a decision asks for
 * the same end as the decider's own rule has.
 */
const clockToleranceMs = 60_000;

/**
 * Whether a remembered rule would last longer than the authority of the agent that decides. False
 * for a default ttl, which policy shortens if necessary.
 */
export function outlivesAuthority(
  ttlSeconds: RememberOptions['ttlSeconds'],
  { authorityEndsAt: until, nowMs }: { authorityEndsAt: Date | null; nowMs: number },
): boolean {
  if (until === null || typeof ttlSeconds !== 'number') return false;
  return nowMs + ttlSeconds * 1000 > until.getTime() + clockToleranceMs;
}
