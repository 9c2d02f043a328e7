import type { Gap } from '#contracts/permit';
import { AppError } from '#errors';
import { compilePattern } from '#permission-key';
import type { Deps } from '../deps.ts';
import { findAuthority } from './domain/authority.ts';
import type { Cover, CoverNeed } from './domain/authority.ts';
import { loadChainRules, withCreatorsElsewhere } from './load-chain-rules.ts';
import { recallCall } from './recall-call.ts';

/**
 * The longest lifetime of a rule that an agent makes for a read which its own read allowance covers
 * (docs/reference/permissions.md#authority). In milliseconds.
 */
const readLifetimeMs = 24 * 60 * 60 * 1000;

export interface Authority {
  readonly covers: boolean;
  readonly uncovered: string[];
  readonly untilMs: number | null;
}

/**
 * Whether the identity's authority covers these permission keys of a gap, or these broader
 * patterns. A pattern is covered only if a single rule covers all of it.
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

  const chainRules = await loadChainRules(lookups, orgId, identityId);
  const rulesByIdentity = await withCreatorsElsewhere(
    lookups,
    orgId,
    new Map([[identityId, chainRules]]),
  );
  const call = await recallCall(lookups, rulesByIdentity, gap);
  const coveredKeys = keys.map((text) => ({
    text,
    cover: findAuthority({ rulesByIdentity, call, need: needOf(gap, text) }, identityId),
  }));
  const uncoveredKeys = coveredKeys.filter(({ cover }) => cover === null).map(({ text }) => text);
  const expiryTimes = coveredKeys.flatMap(({ cover }) => expiryOf(cover, deps.now()) ?? []);
  return {
    covers: uncoveredKeys.length === 0,
    uncovered: uncoveredKeys,
    untilMs: expiryTimes.length === 0 ? null : Math.min(...expiryTimes),
  };
}

function needOf(gap: Gap, text: string): CoverNeed {
  const key = gap.derivedKeys.find((each) => each.key === text);
  if (key !== undefined) return { kind: 'key', key };
  return { kind: 'pattern', pattern: compilePattern(text, false) };
}

function expiryOf(cover: Cover, nowMs: number): number | null {
  if (cover === null) return null;
  return cover.by === 'read' ? nowMs + readLifetimeMs : cover.rule.expiresAtMs;
}
