export { TooCostly, compilePattern } from './bounded-regexp.ts';
export { createSchemaChecker, inlineBudget, inlineSchemaWeightMax } from './checker.ts';
export type { CheckValue, SchemaChecker } from './checker.ts';
export { compileSchema } from './find-errors.ts';
export { createSchemaValidator } from './schema-validator.ts';
export { weighJson } from './weigh.ts';
