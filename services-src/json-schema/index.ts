export { TooCostly, compilePattern } from './bounded-regexp.ts';
export { createInlineBudget, createSchemaChecker, inlineSchemaWeightMax } from './checker.ts';
export type { CheckValue, SchemaChecker } from './checker.ts';
export { compileTest } from './find-errors.ts';
export type { Budget } from './find-errors.ts';
export { createSchemaValidator } from './schema-validator.ts';
export { weighJson } from './weigh.ts';
