import type { DerivedKey } from '#contracts/permit';
import type { ChainLink } from '#contracts/vocabulary';
import { findAuthority, findCover } from './authority.ts';
import type { Cover } from './authority.ts';
import type { RulesByIdentity } from './chain-rules.ts';
import { findDenial, comparisonTooLongError } from './denial.ts';
import type { Denial, WalkedCall } from './denial.ts';

export interface WalkedKey {
  readonly key: DerivedKey;
  readonly cover: Cover;
}

export type Verdict =
  | { readonly outcome: 'denied'; readonly denial: Denial }
  | { readonly outcome: 'allowed' | 'gap'; readonly keys: readonly WalkedKey[] };

/**
 * The permission walk for an agent or subagent. A user's own call skips it
 * (docs/reference/permissions.md#the-walk). Throws `invalid_params` when comparing the call with
 * rules takes too long. Otherwise a person would be asked about a call that a rule may already
 * allow.
 */
export function walk(
  rulesByIdentity: RulesByIdentity,
  callerId: string,
  call: WalkedCall,
): Verdict {
  const chainRules = rulesByIdentity.get(callerId);
  const denial = chainRules && findDenial(chainRules, call);
  if (denial !== undefined) return { outcome: 'denied', denial };
  const keys = call.keys.map((key) => ({
    key,
    cover: findCover({ rulesByIdentity, call, need: { kind: 'key', key } }, callerId),
  }));
  if (keys.every(({ cover }) => cover !== null)) return { outcome: 'allowed', keys };
  if (call.budget.left < 0) throw comparisonTooLongError();
  return { outcome: 'gap', keys };
}

/**
 * Whether an ancestor's authority covers every one of these permission keys. A user's authority
 * always does.
 */
export function coversAll(
  rulesByIdentity: RulesByIdentity,
  ancestor: ChainLink,
  { call, keys }: { call: WalkedCall; keys: readonly DerivedKey[] },
): boolean {
  if (ancestor.kind === 'user') return true;
  return keys.every(
    (key) =>
      findAuthority({ rulesByIdentity, call, need: { kind: 'key', key } }, ancestor.id) !== null,
  );
}
