import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';

import { TooCostly, runWithinSteps } from './bounded-regexp.ts';
import { createSchemaValidator } from './schema-validator.ts';
import { weighJson } from './weigh.ts';

type Schema = Readonly<Record<string, unknown>>;

/**
 * The cost that a check may still have: pairs of a part of the schema and a value, and steps of
 * regular expressions. Checks subtract their cost.
 */
export interface Budget {
  pairs: number;
  steps: number;
}

/**
 * Returns the errors of a value, none when the value meets the schema; throws `TooCostly` when the
 * budget may not be enough.
 */
export type FindErrors = (value: unknown, budget: Budget) => readonly ErrorObject[];

/**
 * For a check with more pairs of schema part and value than this, only the first error is reported.
 */
const allErrorsPairsMax = 20_000;

let validators: ReturnType<typeof createValidators> | undefined;

function createValidators() {
  return {
    first: createSchemaValidator({ allErrors: false }),
    all: createSchemaValidator({ allErrors: true }),
  };
}

/**
 * Creates a function that finds the errors of a value. It stops at the first error, and looks for
 * the others only when finding all errors costs little.
 */
export function compileSchema(schema: Schema): FindErrors {
  validators ??= createValidators();
  const { first, all } = validators;
  const size = weighJson(schema);
  const isValid = compileOnce(first, schema);
  let isWhollyValid: ValidateFunction | undefined;
  return (value, budget) =>
    runWithinSteps(budget, () => {
      const cost = spendPairs(value, size, budget);
      if (isValid(value)) return [];
      const errors = isValid.errors ?? [];
      if (cost > allErrorsPairsMax) return errors;
      isWhollyValid ??= compileOnce(all, schema);
      return isWhollyValid(value) ? errors : (isWhollyValid.errors ?? errors);
    });
}

function spendPairs(value: unknown, size: number, budget: Budget): number {
  const pairsMax = Math.max(0, Math.floor(budget.pairs / size)) + 1;
  const cost = weighJson(value, pairsMax) * size;
  if (cost > budget.pairs) throw new TooCostly();
  budget.pairs -= cost;
  return cost;
}

/**
 * Compiles a schema in an Ajv instance of its own. Ajv keeps every schema as long as the instance
 * lives, so a shared instance would keep them for ever.
 */
function compileOnce(
  ajv: ReturnType<typeof createSchemaValidator>,
  schema: Schema,
): ValidateFunction {
  const isValid = ajv.compile(schema);
  ajv.removeSchema(schema);
  return isValid;
}
