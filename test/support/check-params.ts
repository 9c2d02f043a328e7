import { describeIssues } from '../../services-src/json-schema/describe-issues.ts';
import type { SchemaIssue } from '../../services-src/json-schema/describe-issues.ts';
import { compileSchema } from '../../services-src/json-schema/find-errors.ts';

/**
 * Validates an action's parameters in the same way as the validation thread, but without a limit on
 * the number of steps.
 */
export type ParamsValidator = (params: unknown) => SchemaIssue[];

export function compileValidator(schema: Readonly<Record<string, unknown>>): ParamsValidator {
  const findErrors = compileSchema(schema);
  const unbounded = { pairs: Infinity, steps: Infinity };
  return (value) => describeIssues(findErrors(value, unbounded), { schema, value });
}
