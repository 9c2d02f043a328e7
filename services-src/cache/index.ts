export { createLookupCache } from './lookup.ts';
export type { LookupCache } from './lookup.ts';
