export { compileGlob, matchesText, overlapsPattern } from './glob.ts';
export type { Glob, GlobBudget } from './glob.ts';
export {
  keyCharactersMax,
  wholeAction,
  createActionKey as actionKey,
  createConnectionKey as connectionKey,
  encodeArgument,
  encodeName,
  encodePosition,
  createHttpKey as httpKey,
  createPositionsKey as positionsKey,
  createSecretKey as secretKey,
  splitKey,
  unknownPosition,
  encodeHiddenCharacters as withHiddenEncoded,
  withoutOrg,
} from './keys.ts';
export { createMatcher } from './matcher.ts';
export type { RulePattern } from './matcher.ts';
export { compileArgument, compilePattern, coversAllOf, matchesKey } from './patterns.ts';
export type { Pattern } from './patterns.ts';
export {
  anyMethod,
  anyName,
  encodeAsterisks,
  hasWildcard,
  isAnyArgument,
  mapLiterals,
  restoreWildcards,
  splitAddress,
  writtenHostOf,
} from './wildcards.ts';
