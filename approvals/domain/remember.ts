import { AppError } from '#errors';
import type { RulePattern } from '#permission-key';
import type { Card } from './approval.ts';

/**
 * The patterns that `allow_remember` stores: those asked for, each from some suggested tier, or
 * the narrowest tier. The call's own keys are stored exact, so that a `*` that stands in one for
 * "no argument" does not become a wildcard.
 */
export function rememberedPatterns(
  card: Pick<Card, 'suggestedTiers' | 'permissionKeys'>,
  rememberKeys: readonly string[] | undefined,
): RulePattern[] {
  const offered = new Set(card.suggestedTiers.flatMap((tier) => tier.keys));
  const notOffered = (rememberKeys ?? []).filter((key) => !offered.has(key));
  if (notOffered.length > 0) {
    throw new AppError(
      'remember_keys_not_offered',
      'Choose remember_keys from the suggested tiers of this approval.',
      { details: { not_offered: notOffered, available: [...offered] } },
    );
  }
  const exact = new Set(card.permissionKeys);
  const chosen = new Set(rememberKeys ?? card.suggestedTiers[0]?.keys);
  return [...chosen].map((pattern) => ({ pattern, exact: exact.has(pattern) }));
}
