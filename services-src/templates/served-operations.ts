import type { CompiledTemplate } from '../contracts/template.ts';
import { lookUpOperations, readSegmentsWithin, stepsMax } from './operations.ts';
import type { FoundOperation, PathBudget } from './operations.ts';
import { decodePercents } from './percents.ts';
import { anySegment } from './roots.ts';
import { decodeText, isClear, readSteps, segmentsOf, toUnclear } from './segments.ts';
import type { Segment, Step } from './segments.ts';

/**
 * Finds the operations with this method at a path in plain form: those that match it as written and
 * those that match it without letter case. HEAD counts as GET. Undefined when the search would take
 * more than the budget.
 */
export function findServedOperations(
  template: CompiledTemplate,
  { method, path }: { method: string; path: string },
  budget: PathBudget = { left: stepsMax },
): FoundOperation[] | undefined {
  const segments = readSegmentsWithin(path, budget);
  const exactMatches = lookUpOperations(template, method, { segments, ignoresCase: false, budget });
  const looseMatches = lookUpOperations(template, method, { segments, ignoresCase: true, budget });
  if (exactMatches === undefined || looseMatches === undefined) return undefined;
  const exactActions = new Set(exactMatches.map(({ action }) => action));
  return [...exactMatches, ...looseMatches.filter(({ action }) => !exactActions.has(action))];
}

/**
 * Finds the operations that a raw HTTP call may be. These are the operations that serve its path.
 * If the value of a path parameter is more than a word, operations with one of its words as this
 * segment are added: some servers ignore the rest, so that `/users/me.json`, `/users/me%20` and
 * `/users/me:` may be `/users/me`. Undefined when the search would take more than the budget.
 */
export function findPossibleOperations(
  template: CompiledTemplate,
  { method, path }: { method: string; path: string },
  budget: PathBudget = { left: stepsMax },
): FoundOperation[] | undefined {
  const served = findServedOperations(template, { method, path }, budget);
  if (served === undefined || served.length === 0) return served;
  const segments = readSegmentsWithin(path, budget);
  const found = new Map(served.map((each) => [each.action, each]));
  for (const { action, route: servedBy } of served) {
    const marked = markUnclear(segments, readSteps(action));
    if (marked === segments) continue;
    const search = { segments: marked, ignoresCase: true, budget, servedBy };
    const others = lookUpOperations(template, method, search);
    if (others === undefined) return undefined;
    for (const each of others) if (!found.has(each.action)) found.set(each.action, each);
  }
  return [...found.values()];
}

/**
 * Marks each segment that servers may read differently than its step. Returns the same array when
 * no segment needs a mark.
 */
function markUnclear(segments: readonly Segment[], steps: readonly Step[]): readonly Segment[] {
  const marked = segments.map((segment, at): Segment => {
    // When a parameter may contain slashes, any step may be the step of this segment.
    const possibleSteps = steps.length === segments.length ? steps.slice(at, at + 1) : steps;
    return possibleSteps.some((step) => isClear(step, segment)) ? segment : toUnclear(segment);
  });
  return marked.some(({ mayBe }) => mayBe) ? marked : segments;
}

/**
 * Whether every server reads the path in the same way (its *plain form*,
 * docs/reference/permissions.md#what-a-deny-reaches). No segment but the last may be empty, and
 * none may end with a dot or a blank or contain `;`. Percent triplets must be UTF-8 that is encoded
 * once, which allows an encoded slash in the value of a parameter.
 */
export function isPlainPath(path: string): boolean {
  return plainPartOf(path) === path;
}

/**
 * The part of a path that every server reads in the same way. This is the whole path if it is in
 * plain form, and otherwise the part before the first segment that is not. Empty when a segment may
 * lead back up.
 */
export function plainPartOf(path: string): string {
  const segments = path.split('/').slice(1);
  const firstUnclear = segments.findIndex((segment, at) =>
    segment === '' ? at < segments.length - 1 : !isPlainSegment(segment),
  );
  if (firstUnclear < 0) return path;
  if (segments.some(mayLeadUp)) return '';
  return segments
    .slice(0, firstUnclear)
    .map((segment) => `/${segment}`)
    .join('');
}

function isPlainSegment(segment: string): boolean {
  if (/;|%(?:3B|5C|25[0-9A-F]{2})/i.test(segment)) return false;
  return !/\ufffd|[\s\u0085.]$/.test(decodePercents(segment));
}

/**
 * How many times a segment is decoded. A segment that is encoded more often counts as one that may
 * lead up.
 */
const decodingsMax = 4;

/**
 * Whether some servers may read a segment as `..`, alone or between slashes that they decode. Such
 * servers decode more than once, ignore dots and blanks at the end, or take bytes that are not
 * UTF-8 for dots.
 */
function mayLeadUp(segment: string): boolean {
  let text = segment;
  for (let count = 0; count < decodingsMax && text.includes('%'); count += 1) {
    text = decodePercents(text);
  }
  if (text.includes('\ufffd') || /%[0-9A-F]{2}/i.test(text)) return true;
  return text.split(/[\\/;]/).some((part) => /^[\s\u0085.]{2,}$/.test(part));
}

/**
 * The part of a plain path below a prefix. It begins with `/` unless it is empty. Letter case makes
 * no difference. Undefined when the path is not below the prefix.
 */
export function pathBelow(prefix: string, path: string): string | undefined {
  if (path === prefix || path.startsWith(`${prefix}/`)) return path.slice(prefix.length);
  const expectedSegments = segmentsOf(prefix);
  const givenSegments = path.split('/').slice(1);
  const isBelow = expectedSegments.every((segment, at) => {
    const givenSegment = givenSegments[at];
    if (givenSegment === undefined || givenSegment === '') return false;
    return segment === anySegment || toLooseText(segment) === toLooseText(givenSegment);
  });
  if (!isBelow) return undefined;
  const rest = givenSegments.slice(expectedSegments.length);
  return rest.length === 0 ? '' : `/${rest.join('/')}`;
}

function toLooseText(segment: string): string {
  return decodeText(segment).toLowerCase();
}
