import { Ajv2020 } from 'ajv/dist/2020.js';
import type { Format, FormatDefinition, ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

import type { CompiledAction } from '#contracts/template';
import type { JsonValue } from '#contracts/vocabulary';
import { canonicalJson } from '#signing';
import { BoundedRegExp } from './bounded-regexp.ts';
import type { Issue } from './invalid-call.ts';
import { describeIssues } from './schema-issues.ts';

/** Checks the params of one action. Made once per action and template version, and kept. */
export type ParamsValidator = (params: Record<string, JsonValue>) => Issue[];

/** No format needs more; their own expressions are not all linear. */
const FORMAT_CHARACTERS_MAX = 4096;
const unboundedFormats = new Set(['binary', 'byte', 'password']);

export function compileValidator(paramsSchema: CompiledAction['paramsSchema']): ParamsValidator {
  const ajv = validator();
  const validate = ajv.compile(paramsSchema);
  // Ajv would keep every schema for ever; the caller keeps the function as long as it wants.
  ajv.removeSchema(paramsSchema);
  return (params) => {
    if (isValid(validate, params)) return [];
    return describeIssues(validate.errors ?? [], { schema: paramsSchema, params });
  };
}

function isValid(validate: ValidateFunction, params: unknown): boolean {
  return validate(params);
}

let shared: Ajv2020 | undefined;

function validator(): Ajv2020 {
  shared ??= createValidator();
  return shared;
}

function createValidator(): Ajv2020 {
  const ajv = new Ajv2020({
    strict: false,
    allErrors: true,
    verbose: true,
    logger: false,
    // The registry has checked it when it compiled the template.
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
    ajv.addFormat(name, { ...definition, validate: bounded(test) });
    return;
  }
  ajv.addFormat(name, { type: 'string', validate: bounded(format) });
}

type Test = RegExp | ((text: string) => boolean);

function bounded(test: Test | string): (text: string) => boolean {
  const matches = typeof test === 'function' ? test : (text: string) => new RegExp(test).test(text);
  return (text) => text.length <= FORMAT_CHARACTERS_MAX && matches(text);
}
