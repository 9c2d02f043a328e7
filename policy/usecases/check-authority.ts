import type { Gap } from '#contracts/permit';
import { AppError } from '#errors';
import { compilePattern } from '#permission-key';
import type { Deps } from '../deps.ts';
import { findAuthority } from '../domain/authority.ts';
import type { Cover, Need } from '../domain/authority.ts';
import { recallCall } from '../facts/recall.ts';
import { loadStanding, withCreatorsElsewhere } from '../facts/standings.ts';

/** An agent hands on what it holds by the read allowance for a day at most (docs/reference/permissions.md#authority). */
const readLifetimeMs = 24 * 60 * 60 * 1000;

export interface Authority {
  readonly covers: boolean;
  readonly uncovered: string[];
  readonly untilMs: number | null;
}

/**
 * Does the identity's authority cover these keys of a gap, or these patterns that broaden them?
 * A key of the gap is itself; anything else is a pattern, covered when a rule covers all of it.
 */
export async function checkAuthority(
  deps: Deps,
  {
    orgId,
    identityId,
    gap: signed,
    keys,
  }: { orgId: string; identityId: string; gap: string; keys: readonly string[] },
): Promise<Authority> {
  const { lookups } = deps;
  const gap = deps.gapVerifier.verify(signed);
  if (gap.orgId !== orgId) throw new AppError('not_found', 'There is no such approval.');
  const { active, chain } = await lookups.getChain(orgId, identityId);
  if (!active) return { covers: false, uncovered: [...keys], untilMs: null };
  if (chain.at(-1)?.kind === 'user') return { covers: true, uncovered: [], untilMs: null };

  const standing = await loadStanding(lookups, orgId, identityId);
  const standings = await withCreatorsElsewhere(lookups, orgId, new Map([[identityId, standing]]));
  const call = await recallCall(lookups, standings, gap);
  const held = keys.map((text) => ({
    text,
    cover: findAuthority({ standings, call, need: needOf(gap, text) }, identityId),
  }));
  const uncovered = held.filter(({ cover }) => cover === null).map(({ text }) => text);
  const ends = held.flatMap(({ cover }) => endOf(cover, deps.now()) ?? []);
  return {
    covers: uncovered.length === 0,
    uncovered,
    untilMs: ends.length === 0 ? null : Math.min(...ends),
  };
}

function needOf(gap: Gap, text: string): Need {
  const key = gap.derivedKeys.find((each) => each.key === text);
  if (key !== undefined) return { kind: 'key', key };
  return { kind: 'pattern', pattern: compilePattern(text, false) };
}

function endOf(cover: Cover, now: number): number | null {
  if (cover === null) return null;
  return cover.by === 'read' ? now + readLifetimeMs : cover.rule.expiresAtMs;
}
