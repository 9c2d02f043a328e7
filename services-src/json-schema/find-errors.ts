import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js';

import { TooCostly, withinSteps } from './bounded-regexp.ts';
import { createSchemaValidator } from './schema-validator.ts';
import { weighJson } from './weigh.ts';

type Schema = Readonly<Record<string, unknown>>;

/** What may be spent: pairs of a part of the schema and a value, and steps of expressions. It is taken from. */
export interface Budget {
  pairs: number;
  steps: number;
}

/** Empty when the value meets the schema; throws `TooCostly` where the budget may not be enough. */
export type FindErrors = (value: unknown, budget: Budget) => readonly ErrorObject[];

/** Beyond this many pairs the first error is all that is told. */
const allErrorsPairsMax = 20_000;

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
  return (value, budget) =>
    withinSteps(budget, () => {
      const cost = spendPairs(value, size, budget);
      if (isValid(value)) return [];
      const found = isValid.errors ?? [];
      if (cost > allErrorsPairsMax) return found;
      isWhollyValid ??= compileOnce(all, schema);
      return isWhollyValid(value) ? found : (isWhollyValid.errors ?? found);
    });
}

/** A function that says whether a value meets the schema; throws `TooCostly` like `FindErrors`. */
export function compileTest(schema: Schema): (value: unknown, budget: Budget) => boolean {
  validators ??= createValidators();
  const size = weighJson(schema);
  const isValid = compileOnce(validators.first, schema);
  return (value, budget) =>
    withinSteps(budget, () => {
      spendPairs(value, size, budget);
      return isValid(value);
    });
}

function spendPairs(value: unknown, size: number, budget: Budget): number {
  const most = Math.max(0, Math.floor(budget.pairs / size)) + 1;
  const cost = weighJson(value, most) * size;
  if (cost > budget.pairs) throw new TooCostly();
  budget.pairs -= cost;
  return cost;
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
