import { hash } from 'node:crypto';

import { AppError } from '#errors';

/**
 * JSON with the keys of every object in code-unit order: the same call always gives the same
 * text, however its writer ordered it. Deeper than 64 levels is refused.
 */
export function canonicalJson(value: unknown, depth = 0): string {
  if (depth > 64)
    throw new AppError('invalid_request', 'The call is nested deeper than 64 levels.');
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (Array.isArray(value)) {
    // A long list of texts takes several times as long item by item.
    const isFlat = value.every((item) => item === null || typeof item !== 'object');
    if (isFlat) return JSON.stringify(value);
    return `[${value.map((item) => canonicalJson(item ?? null, depth + 1)).join(',')}]`;
  }
  let members = '';
  // The default order of `toSorted` is by code units.
  const keys = Object.keys(value);
  for (const key of keys.length > 1 ? keys.toSorted() : keys) {
    const member: unknown = value[key as keyof typeof value];
    if (member === undefined) continue;
    members += `${members === '' ? '' : ','}${JSON.stringify(key)}:${canonicalJson(member, depth + 1)}`;
  }
  return `{${members}}`;
}

/** SHA-256 of the canonical JSON, in hex: what a permit or a gap is bound to. */
export function digestOf(value: unknown): string {
  return hash('sha256', canonicalJson(value));
}
