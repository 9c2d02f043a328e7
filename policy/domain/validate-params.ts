import type { Ajv2020, ValidateFunction } from 'ajv/dist/2020.js';

import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { createSchemaValidator } from '#json-schema';
import type { Issue } from './invalid-call.ts';
import { describeIssues } from './schema-issues.ts';

/** Checks the params of one action. Made once per action and template version, and kept. */
export type ParamsValidator = (params: Record<string, JsonValue>) => Issue[];

export function compileValidator(paramsSchema: CompiledAction['paramsSchema']): ParamsValidator {
  const ajv = validator();
  const validate = ajv.compile(paramsSchema);
  // Ajv would keep every schema for ever; the caller keeps the function as long as it wants.
  ajv.removeSchema(paramsSchema);
  return (params) => {
    if (isValid(validate, params)) return [];
    return describeIssues(validate.errors ?? [], { schema: paramsSchema, params });
  };
}

function isValid(validate: ValidateFunction, params: unknown): boolean {
  return validate(params);
}

let shared: Ajv2020 | undefined;

function validator(): Ajv2020 {
  shared ??= createSchemaValidator();
  return shared;
}
