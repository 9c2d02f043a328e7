import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Format, FormatDefinition } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import { canonicalJson } from '../signing/index.ts';
import { BoundedRegExp, spendSteps } from './bounded-regexp.ts';

/** No format needs more; their own expressions are not all linear. */
const formatCharactersMax = 4096;
const unboundedFormats = new Set(['binary', 'byte', 'password']);
/** Read in one go; the expressions of the others may go back as often as there are characters. */
const linearFormats = new Set(['date', 'date-time', 'ipv4', 'json-pointer', 'time', 'uuid']);

/**
 * JSON Schema 2020-12 for schemas that anybody may have written. With `allErrors` a value can have
 * more errors than it has members: for small values only.
 */
export function createSchemaValidator({ allErrors }: { readonly allErrors: boolean }): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    allErrors,
    verbose: true,
    // What every object inherits is not given.
    ownProperties: true,
    logger: false,
    // The registry checks schemas by their own schema when it compiles a template.
    validateSchema: false,
    // Code of a schema runs here: nothing of it may be evaluated, and no expression run unbounded.
    code: {
      regExp: Object.assign((pattern: string, flags: string) => new BoundedRegExp(pattern, flags), {
        code: 'BoundedRegExp',
      }),
    },
  });
  addFormats.default(ajv);
  for (const [name, format] of Object.entries(ajv.formats)) boundFormat(ajv, name, format);
  ajv.removeKeyword('uniqueItems');
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    // Ajv's own compares every item with every other.
    validate: (isUnique: boolean, items: unknown[]) =>
      !isUnique || new Set(items.map((item) => canonicalJson(item))).size === items.length,
    error: { message: 'must NOT have duplicate items' },
  });
  return ajv;
}

function boundFormat(ajv: Ajv2020, name: string, format: Format | undefined): void {
  if (unboundedFormats.has(name) || format === undefined || format === true) return;
  if (typeof format === 'object' && !(format instanceof RegExp)) {
    const definition = format as FormatDefinition<string>;
    if (definition.type !== undefined && definition.type !== 'string') return;
    const test = definition.validate;
    ajv.addFormat(name, { ...definition, validate: bounded(name, test) });
    return;
  }
  ajv.addFormat(name, { type: 'string', validate: bounded(name, format) });
}

type Test = RegExp | ((text: string) => boolean);

function bounded(name: string, test: Test | string): (text: string) => boolean {
  const matches = typeof test === 'function' ? test : (text: string) => new RegExp(test).test(text);
  const isLinear = linearFormats.has(name);
  return (text) => {
    if (text.length > formatCharactersMax) return false;
    spendSteps(isLinear ? text.length : text.length ** 2);
    return matches(text);
  };
}
