import { isObject } from './context.ts';
import type { Context, JsonObject, Place } from './context.ts';

interface TextRule {
  readonly max: number;
  readonly required?: boolean;
}

/** Reads a string field; what is missing or wrong becomes a finding and undefined. */
export function readText(
  { findings }: Context,
  at: Place<JsonObject>,
  { key, max, required = false }: TextRule & { key: string },
): string | undefined {
  const value = at.value[key];
  const path = [...at.path, key];
  if (value === undefined) {
    if (required) {
      findings.error('required_field_missing', at.path, `Add "${bareName(key)}" here.`);
    }
    return undefined;
  }
  if (typeof value !== 'string') {
    findings.error(
      'wrong_type',
      path,
      `"${bareName(key)}" must be a string. Put the value in quotes.`,
    );
    return undefined;
  }
  if (required && value.trim() === '') {
    findings.error('required_field_missing', path, `"${bareName(key)}" must not be empty.`);
    return undefined;
  }
  if (value.length > max) {
    findings.error('out_of_bounds', path, `"${bareName(key)}" may have at most ${max} characters.`);
    return undefined;
  }
  return value;
}

export function readFlag(
  { findings }: Context,
  at: Place<JsonObject>,
  key: string,
): boolean | undefined {
  const value = at.value[key];
  if (value === undefined || typeof value === 'boolean') return value;
  findings.error('wrong_type', [...at.path, key], `"${bareName(key)}" must be true or false.`);
  return undefined;
}

export function readObject(
  { findings }: Context,
  at: Place<JsonObject>,
  key: string,
): Place<JsonObject> | undefined {
  const value = at.value[key];
  if (value === undefined) return undefined;
  const path = [...at.path, key];
  if (isObject(value)) return { value, path };
  findings.error('wrong_type', path, `"${bareName(key)}" must be an object.`);
  return undefined;
}

/** The items of a list field; empty when it is absent or wrong. */
export function readList(
  { findings }: Context,
  at: Place<JsonObject>,
  { key, max }: { key: string; max: number },
): Place[] {
  const value = at.value[key];
  if (value === undefined) return [];
  const path = [...at.path, key];
  if (!Array.isArray(value)) {
    findings.error('wrong_type', path, `"${bareName(key)}" must be a list.`);
    return [];
  }
  if (value.length > max) {
    findings.error('out_of_bounds', path, `"${bareName(key)}" may have at most ${max} entries.`);
    return [];
  }
  return value.map((item, index) => ({ value: item, path: [...path, index] }));
}

/** The entries of an object, with their places. */
export function entriesOf({ value, path }: Place<JsonObject>): [string, Place][] {
  return Object.entries(value).map(([key, item]) => [key, { value: item, path: [...path, key] }]);
}

/** Authors write `scope_param`; the canonical name would puzzle them. */
function bareName(key: string): string {
  return key.startsWith('x-service-') ? key.slice('x-service-'.length).replaceAll('-', '_') : key;
}
