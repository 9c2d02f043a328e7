import { splitKey } from './keys.ts';
import { compilePattern, matchesKey } from './patterns.ts';

/** A pattern of a rule that a decision stores. */
export interface RulePattern {
  readonly pattern: string;
  /** Compared byte for byte, with no wildcards. */
  readonly exact: boolean;
}

/**
 * Says which permission keys a rule of this pattern covers. Policy decides every call; this is for
 * what comes before: the waiting approvals that a new rule makes needless.
 */
export function createMatcher({ pattern, exact }: RulePattern): (key: string) => boolean {
  const compiled = compilePattern(pattern, exact);
  return (key) => {
    if (exact) return key === pattern;
    const segments = splitKey(key);
    return segments !== undefined && matchesKey(compiled, { key, ...segments });
  };
}
