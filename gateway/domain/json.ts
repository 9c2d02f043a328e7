import { isUtf8 } from 'node:buffer';

import { AppError } from '#errors';

const depthMax = 64;
const keysMax = 10_000;
const refusedKeys = new Set(['__proto__', 'constructor']);

/**
 * Parses JSON from outside: UTF-8 only, nested at most 64 levels, at most 10,000 object keys,
 * and no key that means something to JavaScript objects.
 */
export function parseUntrustedJson(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw invalid('The body is not UTF-8; send JSON encoded as UTF-8.');
  return parseUntrustedText(bytes.toString('utf8'));
}

export function parseUntrustedText(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    // The parser's own message quotes the body, so it stays inside.
    throw invalid('The body is not valid JSON; check quotes, commas and brackets.', cause);
  }
  checkShape(value);
  return value;
}

/** Walks level by level, so that the depth of the input is never the depth of our stack. */
function checkShape(value: unknown): void {
  let level = isNested(value) ? [value] : [];
  let keys = 0;
  for (let depth = 1; level.length > 0; depth += 1) {
    if (depth > depthMax) {
      throw invalid(`The body is nested deeper than ${depthMax} levels; flatten it.`);
    }
    const next: object[] = [];
    for (const parent of level) {
      if (!Array.isArray(parent)) keys += checkKeys(parent);
      if (keys > keysMax) throw invalid(`The body has more than ${keysMax} keys; send fewer.`);
      for (const child of Object.values(parent)) if (isNested(child)) next.push(child);
    }
    level = next;
  }
}

function checkKeys(parent: object): number {
  const names = Object.keys(parent);
  for (const name of names) {
    if (refusedKeys.has(name)) {
      throw invalid(`The key ${JSON.stringify(name)} is not accepted; rename or remove it.`);
    }
  }
  return names.length;
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function invalid(message: string, cause?: unknown): AppError {
  return new AppError('invalid_request', message, { cause });
}
