import { setImmediate } from 'node:timers/promises';

import { LRUCache } from 'lru-cache';

import { compilePattern, withHiddenEncoded } from '#permission-key';
import type { Pattern } from '#permission-key';
import { foldPattern } from '../denials/domain/deny-patterns.ts';
import type { Rule } from './domain/rule.ts';

/**
 * The most pattern characters that are cached, over all patterns. A compiled pattern takes about
 * fifty bytes per character.
 */
const keptCharactersMax = 1_000_000;
/**
 * The most pattern characters that are compiled before other requests run. This takes five
 * milliseconds at most.
 */
const charactersBetweenTurnsMax = 20_000;

/**
 * Compiled patterns are cached, because the rules of each chain of identities are read again every
 * second.
 */
const patternCache = new LRUCache<string, Pattern>({
  maxSize: keptCharactersMax,
  sizeCalculation: (_pattern, text) => text.length,
});

interface StoredPattern {
  readonly pattern: string;
  readonly exact: boolean;
  readonly effect: Rule['effect'];
}

/** Compiles the patterns of rules, in the given order. Other requests run in between. */
export async function compilePatterns(
  storedPatterns: readonly StoredPattern[],
): Promise<Pattern[]> {
  const patterns: Pattern[] = [];
  let charactersSinceTurn = 0;
  for (const { pattern: text, exact, effect } of storedPatterns) {
    const key = `${effect} ${exact} ${text}`;
    let pattern = patternCache.get(key);
    if (pattern === undefined) {
      pattern = compilePattern(withHiddenEncoded(text), exact);
      if (effect === 'deny') foldPattern(pattern);
      patternCache.set(key, pattern);
      charactersSinceTurn += key.length;
    }
    patterns.push(pattern);
    if (charactersSinceTurn < charactersBetweenTurnsMax) continue;
    charactersSinceTurn = 0;
    await setImmediate();
  }
  return patterns;
}
