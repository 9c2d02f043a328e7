import type { ErrorObject } from 'ajv/dist/2020.js';

import { createSchemaValidator } from './schema-validator.ts';
import { countValues } from './weigh.ts';

/** Looks a value over; empty when it meets the schema. */
export type FindErrors = (value: unknown) => readonly ErrorObject[];

/** Beyond this many pairs of a schema's part and a value, the first error is all that is told. */
const PAIRS_MAX = 100_000;

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
export function compileSchema(schema: Readonly<Record<string, unknown>>): FindErrors {
  validators ??= createValidators();
  const { first, all } = validators;
  const size = countValues(schema);
  const isValid = first.compile(schema);
  // Ajv would keep every schema for ever; the caller keeps the function as long as it wants.
  first.removeSchema(schema);
  let isWhollyValid: typeof isValid | undefined;
  return (value) => {
    if (isValid(value)) return [];
    const found = isValid.errors ?? [];
    const valuesMax = Math.floor(PAIRS_MAX / size);
    if (countValues(value, valuesMax) >= valuesMax) return found;
    if (isWhollyValid === undefined) {
      isWhollyValid = all.compile(schema);
      all.removeSchema(schema);
    }
    return isWhollyValid(value) ? found : (isWhollyValid.errors ?? found);
  };
}
