import type { CompiledAction } from '#contracts/template';
import { canonicalNumber, readNumberSchema } from '#exact-json';
import {
  compileArgument,
  compileGlob,
  encodePosition,
  hasWildcard,
  isAnyArgument,
  matchesText,
  overlapsPattern,
  unknownPosition,
  wholeAction,
} from '#permission-key';
import { scopeOf } from '#templates';
import type { ScopeOfKey } from '#templates';
import { foldArgument } from '../../denials/domain/deny-arguments.ts';
import type { Rule } from './rule.ts';

/** The encoded form of a slash inside a position, when there are several positions. */
const encodedSlash = encodePosition('/');

/**
 * Whether the argument of a rule can match a permission key of this action. A `*` in the argument
 * is a wildcard.
 */
export function canMatchArgument(
  arg: string,
  action: CompiledAction,
  effect: Rule['effect'],
): boolean {
  if (isAnyArgument(arg)) return true;
  const positions = scopeOf(action);
  const [only, ...others] = positions;
  // A deny rule on any argument refuses every call of an action whose keys have no argument.
  if (only === undefined) return effect === 'deny' || matchesWholeAction(arg);
  // A value that is the only position keeps its slashes, unless the value is a mail address.
  const isSingleValue = others.length === 0 && only.as !== 'email';
  const texts = isSingleValue ? [arg] : arg.split('/');
  if (texts.some((text, at) => isOtherNumber(text, { position: positions[at], effect })))
    return false;
  if (isSingleValue) return !arg.includes(encodedSlash);
  return overlapsPattern(compileGlob(arg), positions.map(() => unknownPosition).join('/'));
}

/**
 * Whether the position contains numbers, but permission keys never write a number like this text.
 */
function isOtherNumber(
  text: string,
  { position, effect }: { position: ScopeOfKey | undefined; effect: Rule['effect'] },
): boolean {
  if (hasWildcard(text) || position === undefined || !isNumeric(position)) return false;
  const comparedText = effect === 'deny' ? foldArgument(text) : text;
  return canonicalNumber(comparedText) !== comparedText;
}

/** Whether every value of the position is a number. */
function isNumeric({ sources }: ScopeOfKey): boolean {
  return (
    sources.length > 0 &&
    sources.every(({ leaf }) => readNumberSchema(leaf.schema).takes !== undefined)
  );
}

function matchesWholeAction(arg: string): boolean {
  const pattern = compileArgument(arg);
  if (pattern === null) return true;
  return typeof pattern === 'string' ? pattern === wholeAction : matchesText(pattern, wholeAction);
}

/** A description of the positions in the action's keys, such as `2 positions, project/type`. */
export function describePositions(action: CompiledAction): string {
  if (action.scopeParam === null) return 'no value, only *';
  const labels = scopeOf(action).map((position) => {
    const { label, sources } = position;
    const [source] = sources;
    const name =
      label ?? source?.steps.findLast((step) => step !== null) ?? source?.param.name ?? 'value';
    return isNumeric(position) ? `${name} (a number as JSON writes it, such as 1.5)` : name;
  });
  return `${labels.length} position${labels.length === 1 ? '' : 's'}, ${labels.join('/')}`;
}

/**
 * The argument, changed to the number of positions that the action's keys have and to their way of
 * writing numbers.
 */
export function withPositionsOf(action: CompiledAction, arg: string): string {
  const positions = scopeOf(action);
  const { length } = positions;
  const [only] = positions;
  if (length < 2) {
    if (only !== undefined && isNumeric(only)) return canonicalNumber(arg.trim()) ?? wholeAction;
    return arg.includes(encodedSlash) ? arg.replaceAll(encodedSlash, '/') : wholeAction;
  }
  const texts = arg.split('/').slice(0, length);
  return [...texts, ...Array<string>(length - texts.length).fill(unknownPosition)]
    .map((text, at) => {
      const position = positions[at];
      const isNumber = position !== undefined && isNumeric(position) && !hasWildcard(text);
      const canonicalText = isNumber ? (canonicalNumber(text.trim()) ?? '') : text;
      return canonicalText === '' ? unknownPosition : canonicalText;
    })
    .join('/');
}
