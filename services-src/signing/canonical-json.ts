import { hash } from 'node:crypto';

import { AppError } from '#errors';

const depthMax = 64;

/**
 * Writes JSON with the keys of every object in code-unit order, so that a call always gives the
 * same text, in whatever order its sender wrote the keys. Refuses more than 64 levels of nesting.
 */
export function toCanonicalJson(value: unknown, depth = 0): string {
  return toReorderedJson(value, depth) ?? toPlainJson(value);
}

/**
 * SHA-256 of the canonical JSON, in hex. Permits and permission gaps are bound to this digest of a
 * call.
 */
export function digestOf(value: unknown): string {
  return hash('sha256', toCanonicalJson(value));
}

/**
 * Returns undefined if plain `JSON.stringify` already writes the value canonically. The caller then
 * writes the value together with its neighbours by one `JSON.stringify`, which is several times as
 * fast as value by value.
 */
function toReorderedJson(value: unknown, depth: number): string | undefined {
  if (depth > depthMax) {
    throw new AppError('invalid_request', `The call is nested deeper than ${depthMax} levels.`);
  }
  if (value === null || typeof value !== 'object') return undefined;
  if (Array.isArray(value)) return toReorderedList(value, depth);
  return toReorderedObject(value as Record<string, unknown>, depth);
}

function toReorderedList(items: readonly unknown[], depth: number): string | undefined {
  let texts: string[] | undefined;
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    const text = toReorderedJson(item, depth + 1);
    if (text !== undefined) texts ??= items.slice(0, index).map(toPlainJson);
    texts?.push(text ?? toPlainJson(item));
  }
  return texts && `[${texts.join(',')}]`;
}

function toReorderedObject(value: Record<string, unknown>, depth: number): string | undefined {
  const keys = Object.keys(value);
  let isPlain = isSorted(keys);
  // Without a comparison function, `sort` compares by code units.
  if (!isPlain) keys.sort();
  const texts: (string | undefined)[] = [];
  for (const key of keys) {
    const text = toReorderedJson(value[key], depth + 1);
    if (text !== undefined) isPlain = false;
    texts.push(text);
  }
  if (isPlain) return undefined;
  let members = '';
  for (let index = 0; index < keys.length; index += 1) {
    const key = keys[index] as string;
    const member = value[key];
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${toPlainJson(key)}:${texts[index] ?? toPlainJson(member)}`;
  }
  return `{${members}}`;
}

function isSorted(keys: readonly string[]): boolean {
  for (let index = 1; index < keys.length; index += 1) {
    if ((keys[index - 1] as string) > (keys[index] as string)) return false;
  }
  return true;
}

/**
 * Short text that JSON writes unchanged between quotes, such as most names. For so few characters
 * this test is faster than `JSON.stringify`.
 */
const shortPlainText = /^[ !#-[\]-~]{0,40}$/;

function toPlainJson(value: unknown): string {
  if (typeof value === 'string' && shortPlainText.test(value)) return `"${value}"`;
  return JSON.stringify(value) ?? 'null';
}
