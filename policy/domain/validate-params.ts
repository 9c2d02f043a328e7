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

/** What checking values of parameters may take for one decision. It is taken from. */
export interface CheckBudget extends Budget {
  /** Of schemas that are met for the first time: making a check of one takes a millisecond or more. */
  newParts: number;
}

/** Whether a value satisfies the schema of one parameter. */
export type ParamCheck = (value: JsonValue, budget?: CheckBudget) => boolean;

/** Some 20 checks of small schemas, or two of the largest. */
const newPartsMax = 400;
const partsPerCheck = 15;

export function createCheckBudget(): CheckBudget {
  return { ...createInlineBudget(), newParts: newPartsMax };
}

/** A value of which finding out would take long is not known to satisfy it. The check is made when it is first needed. */
export function compileParamCheck(schema: CompiledParam['schema']): ParamCheck {
  const parts = weighJson(schema, inlineSchemaWeightMax + 1);
  if (parts > inlineSchemaWeightMax) return () => false;
  let isValid: ReturnType<typeof compileTest> | undefined;
  return (value, budget = createCheckBudget()) => {
    if (isValid === undefined) {
      budget.newParts -= parts + partsPerCheck;
      if (budget.newParts < 0) return false;
      isValid = compileTest(schema);
    }
    try {
      return isValid(value, budget);
    } catch (thrown) {
      if (thrown instanceof TooCostly) return false;
      throw thrown;
    }
  };
}
