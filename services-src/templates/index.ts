export { accountAddressOf, baseUrlFor, isSameLookUp, isWithin } from './account-places.ts';
export {
  actionBaseUrlOf as actionBaseUrl,
  actionServerUrlsOf as actionServerUrls,
  partWith,
  partsOf,
  placesOf,
  reasonOff,
} from './action-places.ts';
export type { Place, TemplatePart } from './action-places.ts';
export { actionPathOf as actionPath, actionQueryOf as actionQuery } from './action-url.ts';
export { decodePercents } from './percents.ts';
export { cardFactsOf } from './card-facts.ts';
export { derivationAt, mayDeriveFromSecret as mayDerive, tokenHostOf } from './derivation.ts';
export { renderDescription } from './description.ts';
export {
  authoredDigestOf as authoredDigest,
  templateDigestOf as templateDigest,
} from './digest.ts';
export {
  toShownName as shownName,
  toVisibleLine as visibleLine,
  toVisibleText as visibleText,
} from './hidden-text.ts';
export { normalisePath, normaliseText } from './http-path.ts';
export { readMailAddress } from './mail-address.ts';
export type { MailAddress } from './mail-address.ts';
export { base64CharactersMax, bodyKindOf } from './media-types.ts';
export type { BodyKind } from './media-types.ts';
export { findOperations, isNarrowerPath, isSameMethod } from './operations.ts';
export type { FoundOperation, PathBudget } from './operations.ts';
export {
  isListOf,
  parseScopePath,
  schemasAt,
  scopePositionsOf as scopeOf,
} from './scope-positions.ts';
export type { ScopeOfKey, ScopeSource, ScopeStep } from './scope-positions.ts';
export { isServedBy, scopeNeedsOf } from './scope-needs.ts';
export { serviceTitleOf } from './service-title.ts';
export { segmentCountMax } from './segments.ts';
export { isServedAt, normaliseBaseUrl } from './service-address.ts';
export { credentialHostsFor, fixedHostsFor, hostIn, serverFor, serversOf } from './servers.ts';
export { anySegment, mayBeOn, prefixesOn } from './roots.ts';
export {
  findPossibleOperations,
  findServedOperations,
  isPlainPath,
  pathBelow,
  plainPartOf,
} from './served-operations.ts';
export {
  refuseMethodOverride,
  refuseOverrideInBody,
  refuseOverrideInPairs,
} from './method-override.ts';
export {
  givenValueOf as givenValue,
  isAbsent,
  takenNameOf as takenName,
  limitSentSize,
  toJoinedText as joinedText,
  toPairTexts as pairTexts,
} from './styles.ts';
export type { SentSize, StyledParam as Styled } from './styles.ts';
export {
  percentEncode as encode,
  percentEncodeExcept as encodeExcept,
  invalidParam,
  isRecord,
  presentEntriesOf as presentEntries,
  textOf,
} from './text.ts';
