import type { DerivedKey } from '#contracts/permit';
import type { ChainLink } from '#contracts/vocabulary';
import { findAuthority, findCover } from './authority.ts';
import type { Cover } from './authority.ts';
import { findDenial, tooLong } from './denials.ts';
import type { Denial, WalkedCall } from './denials.ts';
import type { Standings } from './rules.ts';

export interface WalkedKey {
  readonly key: DerivedKey;
  readonly cover: Cover;
}

export type Verdict =
  | { readonly outcome: 'denied'; readonly denial: Denial }
  | { readonly outcome: 'allowed' | 'gap'; readonly keys: readonly WalkedKey[] };

/**
 * The walk for an agent or subagent; a user alone is not walked (docs/reference/permissions.md#the-walk).
 * Throws `invalid_params` where comparing takes too long, rather than ask a person about a call that
 * a rule may allow.
 */
export function walk(standings: Standings, callerId: string, call: WalkedCall): Verdict {
  const standing = standings.get(callerId);
  const denial = standing && findDenial(standing, call);
  if (denial !== undefined) return { outcome: 'denied', denial };
  const keys = call.keys.map((key) => ({
    key,
    cover: findCover({ standings, call, need: { kind: 'key', key } }, callerId),
  }));
  if (keys.every(({ cover }) => cover !== null)) return { outcome: 'allowed', keys };
  if (call.budget.left < 0) throw tooLong();
  return { outcome: 'gap', keys };
}

/** Does an ancestor's authority cover every one of these keys? The user's always does. */
export function coversAll(
  standings: Standings,
  ancestor: ChainLink,
  { call, keys }: { call: WalkedCall; keys: readonly DerivedKey[] },
): boolean {
  if (ancestor.kind === 'user') return true;
  return keys.every(
    (key) => findAuthority({ standings, call, need: { kind: 'key', key } }, ancestor.id) !== null,
  );
}
