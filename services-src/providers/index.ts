export { fillProvider, isProviderUrl, readVariables } from './fill.ts';
export { builtInProviders } from './load.ts';
