export { parseExactJson } from './parse-exact-json.ts';
export type { ExactJson } from './parse-exact-json.ts';
export { readNumberTexts, toRawNumbers } from './number-texts.ts';
