import type { CompiledTemplate } from '../contracts/template.ts';
import { lookUpOperations, readSegmentsWithin, stepsMax } from './operations.ts';
import type { FoundOperation, PathBudget } from './operations.ts';
import { anySegment } from './roots.ts';
import { decodeText, segmentsOf } from './segments.ts';

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
 * Whether every server reads the path in one way (its *plain form*,
 * docs/reference/permissions.md#what-a-deny-reaches): no empty segment but the last, none that ends
 * with a dot, no `;`, and only percent triplets that are UTF-8, encoded once. A slash that the value
 * of a parameter contains is encoded, and plain.
 */
export function isPlainPath(path: string): boolean {
  if (path.includes(';') || /%(?:3B|5C|25[0-9A-F]{2})/i.test(path)) return false;
  const isDecodable = !path.includes('%') || tryDecode(path) !== undefined;
  const segments = path.split('/').slice(1);
  return (
    isDecodable &&
    segments.every(
      (segment, at) => (segment !== '' || at === segments.length - 1) && !segment.endsWith('.'),
    )
  );
}

function tryDecode(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/**
 * The part of a plain path below a prefix, which begins with `/` unless it is empty. Letter case does
 * not count. Undefined when the path is not below the prefix.
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
