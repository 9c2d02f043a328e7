export { fillProvider, isProviderUrl, readVariables } from './fill.ts';
export { findProviderAt, hasProviderUrls } from './find.ts';
export { builtInProviders } from './load.ts';
