import type { z } from 'zod';

import type { json } from '#contracts/vocabulary';

type Json = z.infer<typeof json>;

/**
 * The kinds of fields for the value of a parameter. In a field of kind `json` the value is entered
 * as JSON text.
 */
export type FieldKind = 'text' | 'long_text' | 'number' | 'boolean' | 'choice' | 'list' | 'json';

export interface ParamField {
  readonly name: string;
  readonly kind: FieldKind;
  readonly isRequired: boolean;
  readonly isWhole: boolean;
  readonly description: string;
  /** The choices: the text of each and its value. */
  readonly choices: readonly { readonly text: string; readonly value: Json }[];
  /** The default value as text. It is used if the field stays empty. */
  readonly placeholder: string;
}

interface Schema {
  readonly type?: unknown;
  readonly enum?: unknown;
  readonly items?: unknown;
  readonly properties?: unknown;
  readonly required?: unknown;
  readonly description?: unknown;
  readonly default?: unknown;
}

const fieldsMax = 200;
const choicesMax = 500;
const descriptionMax = 600;
/** Names of parameters for which people usually write more than one line. */
const longTextName =
  /(?:^|_)(?:body|text|content|message|description|comment|markdown|html|notes?)$/i;

/** The fields of the form for an action. Required ones come first. */
export function fieldsOf(schema: unknown): ParamField[] {
  const { properties, required } = toSchema(schema);
  const requiredNames = new Set(Array.isArray(required) ? required.map(String) : []);
  const fields = Object.entries(toSchema(properties))
    .slice(0, fieldsMax)
    .map(([name, each]) => fieldOf(name, toSchema(each), requiredNames.has(name)));
  return fields.toSorted((one, other) => Number(other.isRequired) - Number(one.isRequired));
}

/** How many parameters have no field, because there are more than the limit. */
export function countOmitted(schema: unknown): number {
  return Math.max(0, Object.keys(toSchema(toSchema(schema).properties)).length - fieldsMax);
}

function toSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
}

function fieldOf(name: string, schema: Schema, isRequired: boolean): ParamField {
  const type = typeOf(schema);
  const choices = choicesOf(schema);
  const { default: usual, description } = schema;
  return {
    name,
    kind: kindOf(name, schema, choices.length > 0),
    isRequired,
    isWhole: type === 'integer',
    description: typeof description === 'string' ? description.slice(0, descriptionMax) : '',
    choices,
    placeholder: usual === undefined ? '' : textOf(usual).slice(0, 100),
  };
}

/** The type in the schema, apart from `null`. Undefined if there are several. */
function typeOf({ type }: Schema): string | undefined {
  const types = (Array.isArray(type) ? type : [type]).filter((each) => each !== 'null');
  return types.length === 1 && typeof types[0] === 'string' ? types[0] : undefined;
}

function choicesOf(schema: Schema): ParamField['choices'] {
  if (!Array.isArray(schema.enum) || schema.enum.length > choicesMax) return [];
  return schema.enum.map((value: Json) => ({ text: textOf(value), value }));
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

function kindOf(name: string, schema: Schema, hasChoices: boolean): FieldKind {
  if (hasChoices) return 'choice';
  switch (typeOf(schema)) {
    case 'string':
      return longTextName.test(name) ? 'long_text' : 'text';
    case 'number':
    case 'integer':
      return 'number';
    case 'boolean':
      return 'boolean';
    case 'array':
      return typeOf(toSchema(schema.items)) === 'string' ? 'list' : 'json';
    case undefined:
    default:
      return 'json';
  }
}

export type EnteredParams =
  | { readonly params: Record<string, Json> }
  | { readonly problems: Readonly<Record<string, string>> };

/**
 * Converts the entered texts to the params of the call, or returns the problems by field. Empty
 * fields are left out.
 */
export function toParams(
  fields: readonly ParamField[],
  entered: Readonly<Record<string, string | undefined>>,
): EnteredParams {
  const params: [string, Json][] = [];
  const problems: [string, string][] = [];
  for (const field of fields) {
    const text = entered[field.name] ?? '';
    if (text.trim() === '') {
      if (field.isRequired) problems.push([field.name, 'This must be given.']);
      continue;
    }
    const read = readValue(field, text);
    if ('problem' in read) problems.push([field.name, read.problem]);
    else params.push([field.name, read.value]);
  }
  return problems.length > 0
    ? { problems: Object.fromEntries(problems) }
    : { params: Object.fromEntries(params) };
}

type ReadValue = { readonly value: Json } | { readonly problem: string };

function readValue({ kind, isWhole, choices }: ParamField, text: string): ReadValue {
  switch (kind) {
    case 'number':
      return readNumber(text, isWhole);
    case 'boolean':
      return { value: text === 'true' };
    case 'choice': {
      const choice = choices.find((each) => each.text === text);
      return choice === undefined
        ? { problem: 'Choose one of the list.' }
        : { value: choice.value };
    }
    case 'list':
      return { value: text.split('\n').filter((line) => line.trim() !== '') };
    case 'json':
      return readJson(text);
    case 'text':
    case 'long_text':
      return { value: text };
  }
}

function readNumber(text: string, isWhole: boolean): ReadValue {
  const number = Number(text);
  if (!Number.isFinite(number)) return { problem: 'This must be a number.' };
  if (isWhole && !Number.isSafeInteger(number)) {
    return { problem: 'This must be a whole number below 9,007,199,254,740,992.' };
  }
  return { value: number };
}

function readJson(text: string): ReadValue {
  try {
    return { value: JSON.parse(text) as Json };
  } catch {
    return { problem: 'This must be JSON: text in quotes, a list in [ ], an object in { }.' };
  }
}
