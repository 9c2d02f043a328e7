import { setImmediate } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';

import { compilePattern, withHiddenEncoded } from '#permission-key';
import type { Pattern } from '#permission-key';
import { foldPattern } from '../domain/deny-patterns.ts';
import type { Rule } from '../domain/rules.ts';

/** Of patterns that are kept: compiled they take some fifty bytes for each character. */
const keptCharactersMax = 1_000_000;
/** Before other requests have their turn: five milliseconds at most. */
const charactersAtOnce = 20_000;

/** The same rules are read again every second, for each chain that they hold for. */
const compiled = new LRUCache<string, Pattern>({
  maxSize: keptCharactersMax,
  sizeCalculation: (_pattern, text) => text.length,
});

interface StoredPattern {
  readonly pattern: string;
  readonly exact: boolean;
  readonly effect: Rule['effect'];
}

/** Patterns of rules, in their order, ready to be compared; other requests are served meanwhile. */
export async function compilePatterns(stored: readonly StoredPattern[]): Promise<Pattern[]> {
  const patterns: Pattern[] = [];
  let since = 0;
  for (const { pattern: text, exact, effect } of stored) {
    const key = `${effect} ${exact} ${text}`;
    let pattern = compiled.get(key);
    if (pattern === undefined) {
      pattern = compilePattern(withHiddenEncoded(text), exact);
      if (effect === 'deny') foldPattern(pattern);
      compiled.set(key, pattern);
      since += key.length;
    }
    patterns.push(pattern);
    if (since < charactersAtOnce) continue;
    since = 0;
    await setImmediate();
  }
  return patterns;
}
