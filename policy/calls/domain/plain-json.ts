import type { JsonValue } from '#contracts/vocabulary';
import type { Issue } from './invalid-params.ts';

/** The deepest nesting of a value. `canonicalJson` has the same limit. */
const depthMax = 64;
const issuesMax = 20;

/**
 * Finds values that would not be sent as the caller wrote them: integers that parsing has changed,
 * and text that is not valid Unicode.
 */
export function findUnfaithfulValues(value: JsonValue, path: string): Issue[] {
  const issues: Issue[] = [];
  visitValue(value, path, { issues, depth: 0 });
  return issues;
}

function visitValue(
  value: JsonValue,
  path: string,
  { issues, depth }: { issues: Issue[]; depth: number },
): void {
  if (issues.length >= issuesMax) return;
  if (depth > depthMax) {
    issues.push({ path, message: `is nested deeper than ${depthMax} levels` });
  } else if (typeof value === 'number') {
    if (Number.isInteger(value) && !Number.isSafeInteger(value)) {
      issues.push({
        path,
        message: 'is an integer beyond 2^53, which JSON numbers do not carry faithfully',
        expected: 'its digits as text',
      });
    }
  } else if (typeof value === 'string') {
    if (!value.isWellFormed()) issues.push({ path, message: 'holds an unpaired surrogate' });
  } else if (value !== null && typeof value === 'object') {
    for (const [key, member] of Object.entries(value)) {
      const memberPath = path === '' ? key : `${path}.${key}`;
      if (!key.isWellFormed()) issues.push({ path, message: 'holds an unpaired surrogate' });
      visitValue(member, memberPath, { issues, depth: depth + 1 });
    }
  }
}
