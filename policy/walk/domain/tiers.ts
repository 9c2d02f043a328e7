import type { DerivedKey, SuggestedTier } from '#contracts/permit';
import { anyName, splitKey, unknownPosition, wholeAction } from '#permission-key';
import type { KeyPosition } from '../../calls/domain/key-position.ts';
import { describeGrant } from '../../rules/domain/permission-words.ts';
import type { ActionWords, DescribedPattern, Holder } from '../../rules/domain/permission-words.ts';

const tiersMax = 4;

/** What the sentences of the tiers need besides the keys. */
export interface TierWords {
  /** The identity that the rule would be created on. */
  readonly holder: NonNullable<Holder>;
  /** The title of the service, unless only its owner has published the template. */
  readonly service?: string | undefined;
  readonly action?: ActionWords | undefined;
}

/**
 * The suggested rules (tiers) from which people choose what to remember, from exact to broad. From
 * tier to tier, all uncovered permission keys become broader together. A key that cannot become
 * broader stays unchanged (docs/reference/approvals.md#suggested-tiers).
 */
export function suggestTiers(
  uncoveredKeys: readonly DerivedKey[],
  scope: readonly KeyPosition[],
  words: TierWords,
): SuggestedTier[] {
  const ladders = uncoveredKeys.map((key) => buildLadder(key, scope));
  const ladderHeight = Math.max(...ladders.map((ladder) => ladder.length));
  const tiers: SuggestedTier[] = [];
  for (let step = 0; step < ladderHeight && tiers.length < tiersMax; step += 1) {
    const chosenPatterns = ladders.flatMap(
      (ladder) => ladder[Math.min(step, ladder.length - 1)] ?? [],
    );
    const keys = [...new Set(chosenPatterns)];
    if (tiers.at(-1)?.keys.join('\n') === keys.join('\n')) continue;
    const patterns = keys.map((text) =>
      describedPatternOf(text, { exact: uncoveredKeys.some(({ key }) => key === text), words }),
    );
    tiers.push({ keys, description: describeGrant(patterns, words.holder) });
  }
  return tiers;
}

function describedPatternOf(
  text: string,
  { exact, words }: { exact: boolean; words: TierWords },
): DescribedPattern {
  const key = splitKey(text) ?? { service: text, action: anyName, arg: wholeAction };
  return { ...key, exact, serviceWords: words.service, actionWords: words.action };
}

/** The patterns for one key, from the key itself to broad patterns. */
function buildLadder(derivedKey: DerivedKey, scope: readonly KeyPosition[]): string[] {
  const { key, service, action, arg } = derivedKey;
  if (service === 'secret' || service === 'connection') return [key];
  if (service === 'http') {
    const slash = arg.indexOf('/');
    const host = slash < 0 ? arg : arg.slice(0, slash);
    return [key, `http:${action}:${host}/**`, `http:ANY:${host}/**`];
  }
  const anyAction = `${service}:*:*`;
  if (arg === wholeAction) return [key, anyAction];
  const broaderKey = broadenLastPosition(derivedKey, scope);
  const broaderKeys = broaderKey === undefined ? [] : [broaderKey];
  return [key, ...broaderKeys, `${service}:${action}:*`, anyAction];
}

/**
 * Makes the key broader in its last position, which may then have any value; in a mail address, in
 * the part before the domain. Undefined when the key cannot become broader in this way.
 */
function broadenLastPosition(
  { key, service, action, arg }: DerivedKey,
  scope: readonly KeyPosition[],
): string | undefined {
  if (scope.length === 1 && scope[0]?.as === 'email') {
    return `${service}:${action}:*@${arg.slice(arg.lastIndexOf('@') + 1)}`;
  }
  if (scope.length < 2) return undefined;
  const pattern = `${service}:${action}:${arg.split('/').slice(0, -1).join('/')}/${unknownPosition}`;
  // The last position is already unknown. A tier with the text of the call's own key remembers
  // exactly this key, so the tier would not be broader.
  return pattern === key ? undefined : pattern;
}
