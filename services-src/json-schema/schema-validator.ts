import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Format, FormatDefinition } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import { canonicalJson } from '../signing/index.ts';
import { BoundedRegExp, spendSteps } from './bounded-regexp.ts';

/**
 * Longer values are invalid in every format. They are not matched, because the regular expressions
 * of some formats take more than linear time.
 */
const formatCharactersMax = 4096;
const unboundedFormats = new Set(['binary', 'byte', 'password']);
/**
 * Formats that are checked in one pass; the regular expressions of the others may backtrack once
 * per character.
 */
const linearFormats = new Set(['date', 'date-time', 'ipv4', 'json-pointer', 'time', 'uuid']);

/**
 * Creates a validator of JSON Schema 2020-12 for untrusted schemas. With `allErrors` a value can
 * have more errors than members, so use it for small values only.
 */
export function createSchemaValidator({ allErrors }: { readonly allErrors: boolean }): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    allErrors,
    verbose: true,
    // Members that every object inherits do not count as given.
    ownProperties: true,
    logger: false,
    // The registry validates schemas against the meta-schema when it compiles a template.
    validateSchema: false,
    // The schema is untrusted: no part of it may be evaluated as code, and no expression may run
    // unbounded.
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
    // Replaces Ajv's own check, which compares every item with every other.
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
    const formatTest = definition.validate;
    ajv.addFormat(name, { ...definition, validate: createBoundedTest(name, formatTest) });
    return;
  }
  ajv.addFormat(name, { type: 'string', validate: createBoundedTest(name, format) });
}

type FormatTest = RegExp | ((text: string) => boolean);

function createBoundedTest(
  name: string,
  formatTest: FormatTest | string,
): (text: string) => boolean {
  const matchesFormat =
    typeof formatTest === 'function'
      ? formatTest
      : (text: string) => new RegExp(formatTest).test(text);
  const isLinear = linearFormats.has(name);
  return (text) => {
    if (text.length > formatCharactersMax) return false;
    spendSteps(isLinear ? text.length : text.length ** 2);
    return matchesFormat(text);
  };
}
