export { fillProvider, readVariables } from './fill.ts';
export { findProviderAt, hasProviderUrls } from './find.ts';
export { builtInProviders } from './load.ts';
