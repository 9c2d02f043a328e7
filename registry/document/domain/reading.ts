import { isObject } from './context.ts';
import type { CompileContext, JsonObject, DocumentNode } from './context.ts';

interface TextLimits {
  readonly max: number;
  readonly required?: boolean;
}

/** Reads a string field; undefined when it is missing or invalid, which becomes a finding. */
export function readText(
  { findings }: CompileContext,
  node: DocumentNode<JsonObject>,
  { key, max, required = false }: TextLimits & { key: string },
): string | undefined {
  const value = node.value[key];
  const path = [...node.path, key];
  if (value === undefined) {
    if (required) {
      findings.error('required_field_missing', node.path, `Add "${shortNameOf(key)}" here.`);
    }
    return undefined;
  }
  if (typeof value !== 'string') {
    findings.error(
      'wrong_type',
      path,
      `"${shortNameOf(key)}" must be a string. Put the value in quotes.`,
    );
    return undefined;
  }
  if (required && value.trim() === '') {
    findings.error('required_field_missing', path, `"${shortNameOf(key)}" must not be empty.`);
    return undefined;
  }
  if (value.length > max) {
    findings.error(
      'out_of_bounds',
      path,
      `"${shortNameOf(key)}" may have at most ${max} characters.`,
    );
    return undefined;
  }
  return value;
}

export function readFlag(
  { findings }: CompileContext,
  node: DocumentNode<JsonObject>,
  key: string,
): boolean | undefined {
  const value = node.value[key];
  if (value === undefined || typeof value === 'boolean') return value;
  findings.error('wrong_type', [...node.path, key], `"${shortNameOf(key)}" must be true or false.`);
  return undefined;
}

export function readObject(
  { findings }: CompileContext,
  node: DocumentNode<JsonObject>,
  key: string,
): DocumentNode<JsonObject> | undefined {
  const value = node.value[key];
  if (value === undefined) return undefined;
  const path = [...node.path, key];
  if (isObject(value)) return { value, path };
  findings.error('wrong_type', path, `"${shortNameOf(key)}" must be an object.`);
  return undefined;
}

/** The items of a list field; empty when the field is absent or invalid. */
export function readList(
  { findings }: CompileContext,
  node: DocumentNode<JsonObject>,
  { key, max }: { key: string; max: number },
): DocumentNode[] {
  const value = node.value[key];
  if (value === undefined) return [];
  const path = [...node.path, key];
  if (!Array.isArray(value)) {
    findings.error('wrong_type', path, `"${shortNameOf(key)}" must be a list.`);
    return [];
  }
  if (value.length > max) {
    findings.error('out_of_bounds', path, `"${shortNameOf(key)}" may have at most ${max} entries.`);
    return [];
  }
  return value.map((item, index) => ({ value: item, path: [...path, index] }));
}

/** The entries of an object, each value with its path. */
export function entryNodesOf({ value, path }: DocumentNode<JsonObject>): [string, DocumentNode][] {
  return Object.entries(value).map(([key, item]) => [key, { value: item, path: [...path, key] }]);
}

/**
 * The short name of an extension, such as `scope_param`. Messages use the short name because
 * authors write that one, not the canonical name.
 */
function shortNameOf(key: string): string {
  return key.startsWith('x-service-') ? key.slice('x-service-'.length).replaceAll('-', '_') : key;
}
