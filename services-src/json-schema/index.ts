export { BoundedRegExp, compilePattern } from './bounded-regexp.ts';
export { compileSchema } from './find-errors.ts';
export { createSchemaValidator } from './schema-validator.ts';
