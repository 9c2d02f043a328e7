export { createLookupCache } from './lookup-cache.ts';
export type { LookupCache } from './lookup-cache.ts';
