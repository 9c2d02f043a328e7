import { hash } from 'node:crypto';

import { AppError } from '#errors';

const depthMax = 64;

/**
 * JSON with the keys of every object in code-unit order: the same call always gives the same
 * text, however its writer ordered it. Deeper than 64 levels is refused.
 */
export function canonicalJson(value: unknown, depth = 0): string {
  return reordered(value, depth) ?? plainJson(value);
}

/** SHA-256 of the canonical JSON, in hex: what a permit or a gap is bound to. */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value));
}

/**
 * Undefined where JSON writes a value canonically as it is. What is in order is written in one go
 * together with all around it that is: value by value it takes several times as long.
 */
function reordered(value: unknown, depth: number): string | undefined {
  if (depth > depthMax) {
    throw new AppError('invalid_request', `The call is nested deeper than ${depthMax} levels.`);
  }
  if (value === null || typeof value !== 'object') return undefined;
  if (Array.isArray(value)) return reorderedList(value, depth);
  return reorderedObject(value as Record<string, unknown>, depth);
}

function reorderedList(items: readonly unknown[], depth: number): string | undefined {
  let texts: string[] | undefined;
  for (let at = 0; at < items.length; at += 1) {
    const item = items[at];
    const text = reordered(item, depth + 1);
    if (text !== undefined) texts ??= items.slice(0, at).map(plainJson);
    texts?.push(text ?? plainJson(item));
  }
  return texts && `[${texts.join(',')}]`;
}

function reorderedObject(value: Record<string, unknown>, depth: number): string | undefined {
  const keys = Object.keys(value);
  let isPlain = isSorted(keys);
  // The default order is by code units.
  if (!isPlain) keys.sort();
  const texts: (string | undefined)[] = [];
  for (const key of keys) {
    const text = reordered(value[key], depth + 1);
    if (text !== undefined) isPlain = false;
    texts.push(text);
  }
  if (isPlain) return undefined;
  let members = '';
  for (let at = 0; at < keys.length; at += 1) {
    const key = keys[at] as string;
    const member = value[key];
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${plainJson(key)}:${texts[at] ?? plainJson(member)}`;
  }
  return `{${members}}`;
}

function isSorted(keys: readonly string[]): boolean {
  for (let at = 1; at < keys.length; at += 1) {
    if ((keys[at - 1] as string) > (keys[at] as string)) return false;
  }
  return true;
}

/** What JSON only puts in quotes: most names, and with so few characters the test costs less than JSON does. */
const shortPlainText = /^[ !#-[\]-~]{0,40}$/;

function plainJson(value: unknown): string {
  if (typeof value === 'string' && shortPlainText.test(value)) return `"${value}"`;
  return JSON.stringify(value) ?? 'null';
}
