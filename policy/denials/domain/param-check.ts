import type { CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import {
  TooCostly,
  compileTest,
  createInlineBudget,
  inlineSchemaWeightMax,
  weighJson,
} from '#json-schema';
import type { Budget } from '#json-schema';

/** The budget for checking values of parameters during one decision. Each check uses some of it. */
export interface CheckBudget extends Budget {
  /**
   * The budget for compiling schemas at their first check, which takes a millisecond or more each.
   */
  newSchemaParts: number;
}

/** Checks whether a value satisfies the schema of one parameter. */
export type ParamCheck = (value: JsonValue, budget?: CheckBudget) => boolean;

/** Enough for compiling about 20 small schemas, or two of the largest. */
const newSchemaPartsMax = 400;
const partsPerSchema = 15;

export function createCheckBudget(): CheckBudget {
  return { ...createInlineBudget(), newSchemaParts: newSchemaPartsMax };
}

/**
 * Makes the check of a parameter's schema. The check returns false also when it would cost too
 * much. The schema is compiled at the first check.
 */
export function compileParamCheck(schema: CompiledParam['schema']): ParamCheck {
  const schemaParts = weighJson(schema, inlineSchemaWeightMax + 1);
  if (schemaParts > inlineSchemaWeightMax) return () => false;
  let isValid: ReturnType<typeof compileTest> | undefined;
  return (value, budget = createCheckBudget()) => {
    if (isValid === undefined) {
      budget.newSchemaParts -= schemaParts + partsPerSchema;
      if (budget.newSchemaParts < 0) return false;
      isValid = compileTest(schema);
    }
    try {
      return isValid(value, budget);
    } catch (error) {
      if (error instanceof TooCostly) return false;
      throw error;
    }
  };
}
