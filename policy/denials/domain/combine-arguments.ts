import { encodePosition, hasWildcard, unknownPosition } from '#permission-key';
import { foldText } from './folding.ts';

/** The most arguments that the positions of one key may give together. */
const argumentsMax = 400;

/**
 * Combines the values that each position may have into the arguments that the permission key may
 * have. An undefined position may have any value. Undefined when the argument may be anything, or
 * when the values are too many to compare.
 */
export function combineArguments(
  positions: readonly (readonly string[] | undefined)[],
): readonly string[] | undefined {
  const [only, ...others] = positions;
  if (others.length === 0 || positions.every((each) => each === undefined)) return only;
  let combinedArguments: string[] | undefined;
  for (const values of positions) {
    const texts = values === undefined ? [unknownPosition] : [...new Set(values.flatMap(textsOf))];
    if (texts.length * (combinedArguments?.length ?? 1) > argumentsMax) return undefined;
    combinedArguments =
      combinedArguments?.flatMap((before) => texts.map((text) => `${before}/${text}`)) ?? texts;
  }
  return combinedArguments;
}

/**
 * The texts by which a position may have this value: the value itself, and the id that it denotes.
 * `01` and `1-title` may both denote `1`.
 */
function textsOf(value: string): string[] {
  const { cased, bare, identifier, leadingNumber } = foldText(value);
  const others = [bare === cased ? undefined : bare, identifier, leadingNumber];
  return [value, ...others.filter((each) => each !== undefined)].map(encodePosition);
}

/**
 * Converts the argument of a deny rule so that each id in its positions has one fixed form (`1` for
 * `01`).
 */
export function normaliseIdentifiers(bareArgument: string): string {
  return bareArgument
    .split('/')
    .map((each) => (hasWildcard(each) ? each : (foldText(each).identifier ?? each)))
    .join('/');
}
