import type { CompiledAction } from '#contracts/template';
import {
  compileArgument,
  compileGlob,
  encodePosition,
  isAnyArgument,
  matchesText,
  overlapsPattern,
  unknownPosition,
  wholeAction,
} from '#permission-key';
import { scopeOf } from '#templates';
import type { Rule } from './rule.ts';

/** A slash within one of several positions. */
const encodedSlash = encodePosition('/');

/** Whether the argument of a rule, in which `*` is a wildcard, can match a key of this action. */
export function canMatchArgument(
  arg: string,
  action: CompiledAction,
  effect: Rule['effect'],
): boolean {
  if (isAnyArgument(arg)) return true;
  const positions = scopeOf(action);
  const [only, ...others] = positions;
  // A deny on any argument refuses every call of an action whose keys have no argument.
  if (only === undefined) return effect === 'deny' || matchesWholeAction(arg);
  // A value that is the only position keeps its slashes, unless it is an address.
  if (others.length === 0 && only.as !== 'email') return !arg.includes(encodedSlash);
  return overlapsPattern(compileGlob(arg), positions.map(() => unknownPosition).join('/'));
}

function matchesWholeAction(arg: string): boolean {
  const pattern = compileArgument(arg);
  if (pattern === null) return true;
  return typeof pattern === 'string' ? pattern === wholeAction : matchesText(pattern, wholeAction);
}

/** The positions of the action's keys in words, such as `2 positions, project/type`. */
export function describePositions(action: CompiledAction): string {
  if (action.scopeParam === null) return 'no value, only *';
  const labels = scopeOf(action).map(
    ({ label, sources: [source] }) =>
      label ?? source?.steps.findLast((step) => step !== null) ?? source?.param.name ?? 'value',
  );
  return `${labels.length} position${labels.length === 1 ? '' : 's'}, ${labels.join('/')}`;
}

/** The argument with as many positions as the keys of the action have. */
export function withPositionsOf(action: CompiledAction, arg: string): string {
  const { length } = scopeOf(action);
  if (length < 2) {
    return arg.includes(encodedSlash) ? arg.replaceAll(encodedSlash, '/') : wholeAction;
  }
  const texts = arg.split('/').slice(0, length);
  return [...texts, ...Array<string>(length - texts.length).fill(unknownPosition)]
    .map((text) => (text === '' ? unknownPosition : text))
    .join('/');
}
