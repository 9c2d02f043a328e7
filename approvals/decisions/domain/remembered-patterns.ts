import { AppError } from '#errors';
import type { RulePattern } from '#permission-key';
import type { ApprovalCard } from '../../approval/domain/approval.ts';

/**
 * The patterns that `allow_remember` stores. They are the requested patterns, each of which must be
 * in a suggested rule (tier), or by default those of the narrowest tier. The call's own permission
 * keys become exact patterns, because a `*` in a key means "no argument" and must not become a
 * wildcard.
 */
export function rememberedPatternsOf(
  card: Pick<ApprovalCard, 'suggestedTiers' | 'permissionKeys'>,
  rememberKeys: readonly string[] | undefined,
): RulePattern[] {
  const offeredKeys = new Set(card.suggestedTiers.flatMap((tier) => tier.keys));
  const keysNotOffered = (rememberKeys ?? []).filter((key) => !offeredKeys.has(key));
  if (keysNotOffered.length > 0) {
    throw new AppError(
      'remember_keys_not_offered',
      'Choose remember_keys from the suggested tiers of this approval.',
      { details: { not_offered: keysNotOffered, available: [...offeredKeys] } },
    );
  }
  const exactKeys = new Set(card.permissionKeys);
  const chosenKeys = new Set(rememberKeys ?? card.suggestedTiers[0]?.keys);
  return [...chosenKeys].map((pattern) => ({ pattern, exact: exactKeys.has(pattern) }));
}
