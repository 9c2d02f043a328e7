export { fillProvider, readVariables } from './fill.ts';
export { findProviderAt, hasProviderUrls } from './find.ts';
export { loadBuiltInProviders as builtInProviders, scopeRowOf } from './load.ts';
export { isSameKind, providerActingAs, tokenHeaderOf } from './token-kinds.ts';
export {
  coveredScopesOf as coveredScopes,
  isRestrictedScope as isRestricted,
  listMissingScopes as missingScopes,
  normaliseScopes,
  tokenKindOf,
  withoutImpliedScopes as withoutImplied,
} from './scopes.ts';
