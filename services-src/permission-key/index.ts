export { compileGlob, matchesText } from './glob.ts';
export type { Glob, GlobBudget } from './glob.ts';
export {
  keyCharactersMax,
  wholeAction,
  actionKey,
  connectionKey,
  encodeArgument,
  encodeName,
  httpKey,
  secretKey,
  splitKey,
  withHiddenEncoded,
  withoutOrg,
} from './keys.ts';
export { createMatcher } from './matcher.ts';
export type { RulePattern } from './matcher.ts';
export { compileArgument, compilePattern, coversAllOf, matchesKey } from './patterns.ts';
export type { Pattern } from './patterns.ts';
