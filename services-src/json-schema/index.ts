export { TooCostly, compilePattern } from './bounded-regexp.ts';
export { createSchemaChecker } from './checker.ts';
export type { CheckValue, SchemaChecker } from './checker.ts';
export { createSchemaValidator } from './schema-validator.ts';
export { weighJson } from './weigh.ts';
