import { splitKey } from './keys.ts';
import { compilePattern, matchesKey } from './patterns.ts';

/** The pattern of a rule that a remembered decision stores. */
export interface RulePattern {
  readonly pattern: string;
  /** Compared literally, byte for byte; `*` is not a wildcard. */
  readonly exact: boolean;
}

/**
 * Creates a test whether a rule with this pattern covers a permission key. The test finds waiting
 * approvals that a new rule would make unnecessary. Only policy decides about calls.
 */
export function createMatcher({ pattern, exact }: RulePattern): (key: string) => boolean {
  const compiledPattern = compilePattern(pattern, exact);
  return (key) => {
    if (exact) return key === pattern;
    const segments = splitKey(key);
    return segments !== undefined && matchesKey(compiledPattern, { key, ...segments });
  };
}
