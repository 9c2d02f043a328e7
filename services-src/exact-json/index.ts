export { parseExactJson } from './parse-exact-json.ts';
export type { ExactJson } from './parse-exact-json.ts';
export { readNumberTexts, toRawNumbers } from './number-texts.ts';
export { canonicalNumber } from './exact-numbers.ts';
export { readNumberSchema } from './number-schema.ts';
