import type { JsonValue } from '#contracts/vocabulary';
import type { Issue } from './invalid-call.ts';

/** As `canonicalJson` has it. */
const depthMax = 64;
const issuesMax = 20;

/**
 * What JSON can carry but nobody can approve for what it is: numbers that were changed when they
 * were parsed, and text that is not Unicode.
 */
export function findUnfaithful(value: JsonValue, path: string): Issue[] {
  const issues: Issue[] = [];
  visit(value, path, { issues, depth: 0 });
  return issues;
}

function visit(
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
        expected: 'a string, where the action takes one, or a smaller integer',
      });
    }
  } else if (typeof value === 'string') {
    if (!value.isWellFormed()) issues.push({ path, message: 'holds an unpaired surrogate' });
  } else if (value !== null && typeof value === 'object') {
    for (const [key, member] of Object.entries(value)) {
      const inside = path === '' ? key : `${path}.${key}`;
      if (!key.isWellFormed()) issues.push({ path, message: 'holds an unpaired surrogate' });
      visit(member, inside, { issues, depth: depth + 1 });
    }
  }
}
