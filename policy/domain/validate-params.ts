import type { CompiledParam } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import {
  TooCostly,
  compileSchema,
  inlineBudget,
  inlineSchemaWeightMax,
  weighJson,
} from '#json-schema';

/** Whether a value satisfies the schema of one parameter. */
export type ParamCheck = (value: JsonValue) => boolean;

/** A value of which finding out would take long is not known to satisfy it. */
export function compileParamCheck(schema: CompiledParam['schema']): ParamCheck {
  if (weighJson(schema, inlineSchemaWeightMax + 1) > inlineSchemaWeightMax) return () => false;
  const findErrors = compileSchema(schema);
  return (value) => {
    try {
      return findErrors(value, inlineBudget).length === 0;
    } catch (thrown) {
      if (thrown instanceof TooCostly) return false;
      throw thrown;
    }
  };
}
