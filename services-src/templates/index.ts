export { actionPath, actionQuery } from './action-url.ts';
export { cardFactsOf } from './card-facts.ts';
export { renderDescription } from './description.ts';
export { authoredDigest, templateDigest } from './digest.ts';
export { shownName, visibleLine, visibleText } from './hidden-text.ts';
export { normalisePath, normaliseText } from './http-path.ts';
export { base64CharactersMax, bodyKindOf } from './media-types.ts';
export type { BodyKind } from './media-types.ts';
export { findOperations, isSameMethod } from './operations.ts';
export type { FoundOperation, PathBudget } from './operations.ts';
export { segmentCountMax } from './segments.ts';
export { findServedOperations, pathBelow } from './served-operations.ts';
export {
  refuseMethodOverride,
  refuseOverrideInBody,
  refuseOverrideInPairs,
} from './method-override.ts';
export { givenValue, isAbsent, joinedText, pairTexts } from './styles.ts';
export type { Styled } from './styles.ts';
export { encode, encodeExcept, invalidParam, isRecord, presentEntries, textOf } from './text.ts';
