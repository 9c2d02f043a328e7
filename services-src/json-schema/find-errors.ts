import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';

import { TooCostly, withinSteps } from './bounded-regexp.ts';
import { createSchemaValidator } from './schema-validator.ts';
import { weighJson } from './weigh.ts';

type Schema = Readonly<Record<string, unknown>>;

/** What may be spent on one value: pairs of a part of the schema and a value, and steps of expressions. */
export interface Budget {
  readonly pairs: number;
  readonly steps: number;
}

/** Empty when the value meets the schema; throws `TooCostly` where the budget may not be enough. */
export type FindErrors = (value: unknown, budget: Budget) => readonly ErrorObject[];

/** Beyond this many pairs the first error is all that is told. */
const ALL_ERRORS_PAIRS_MAX = 20_000;

let validators: ReturnType<typeof createValidators> | undefined;

function createValidators() {
  return {
    first: createSchemaValidator({ allErrors: false }),
    all: createSchemaValidator({ allErrors: true }),
  };
}

/**
 * A function that finds what is wrong with a value. It stops at the first error; only a value of
 * which every error can be named at little cost is looked over a second time for the others.
 */
export function compileSchema(schema: Schema): FindErrors {
  validators ??= createValidators();
  const { first, all } = validators;
  const size = weighJson(schema);
  const isValid = compileOnce(first, schema);
  let isWhollyValid: ValidateFunction | undefined;
  return (value, { pairs, steps }) =>
    withinSteps(steps, () => {
      const weight = weighJson(value, Math.floor(pairs / size) + 1);
      if (weight * size > pairs) throw new TooCostly();
      if (isValid(value)) return [];
      const found = isValid.errors ?? [];
      if (weight * size > ALL_ERRORS_PAIRS_MAX) return found;
      isWhollyValid ??= compileOnce(all, schema);
      return isWhollyValid(value) ? found : (isWhollyValid.errors ?? found);
    });
}

/** Ajv would keep every schema for ever; the caller keeps the function as long as it wants. */
function compileOnce(
  ajv: ReturnType<typeof createSchemaValidator>,
  schema: Schema,
): ValidateFunction {
  const isValid = ajv.compile(schema);
  ajv.removeSchema(schema);
  return isValid;
}
