export { renderDescription } from './description.ts';
export { findOperations, isSameMethod } from './operations.ts';
export type { FoundOperation } from './operations.ts';
