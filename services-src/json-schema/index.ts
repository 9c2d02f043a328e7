export { BoundedRegExp, compilePattern } from './bounded-regexp.ts';
export { createSchemaValidator } from './schema-validator.ts';
