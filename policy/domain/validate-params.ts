import type { CompiledAction, CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { compileSchema } from '#json-schema';
import type { Issue } from './invalid-call.ts';
import { describeIssues } from './schema-issues.ts';

/** Checks the params of one action. Made once per action and template version, and kept. */
export type ParamsValidator = (params: Record<string, JsonValue>) => Issue[];

export function compileValidator(paramsSchema: CompiledAction['paramsSchema']): ParamsValidator {
  const findErrors = compileSchema(paramsSchema);
  return (params) => describeIssues(findErrors(params), { schema: paramsSchema, params });
}

/** Whether a value satisfies the schema of one parameter. */
export type ParamCheck = (value: JsonValue) => boolean;

export function compileParamCheck(schema: CompiledParam['schema']): ParamCheck {
  const findErrors = compileSchema(schema);
  return (value) => findErrors(value).length === 0;
}
