import { isUtf8 } from 'node:buffer';

import { AppError } from '#errors';
import { measureJson } from './json-size.ts';
import type { JsonLimits, JsonSize } from './json-size.ts';

const refusedKeys = new Set(['__proto__', 'constructor']);

export interface ParsedJson extends JsonSize {
  readonly value: unknown;
}

/**
 * Parses JSON from outside: UTF-8 only, within the limits, no name twice in one object (readers
 * differ in which of the two counts), and none that means something to JavaScript objects.
 * `onMeasured` may throw, and then nothing is parsed.
 */
export function parseUntrustedJson(
  bytes: Buffer,
  limits: JsonLimits,
  onMeasured?: (size: JsonSize) => void,
): ParsedJson {
  if (!isUtf8(bytes)) throw invalid('The body is not UTF-8; send JSON encoded as UTF-8.');
  const size = measureJson(bytes, limits);
  onMeasured?.(size);
  const value = parse(bytes.toString('utf8'));
  // What the parser kept of two members of one name is one.
  if (countNames(value) !== size.names) {
    throw invalid('The JSON has an object with the same name twice; send each name once.');
  }
  return { ...size, value };
}

/** As `parseUntrustedJson`, for JSON inside of a string. */
export function parseUntrustedText(
  text: string,
  limits: JsonLimits,
  onMeasured?: (size: JsonSize) => void,
): unknown {
  return parseUntrustedJson(Buffer.from(text, 'utf8'), limits, onMeasured).value;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    // The parser's own message quotes the body, so it stays inside.
    throw invalid('The body is not valid JSON; check quotes, commas and brackets.', cause);
  }
}

/** Looks at every name there is; without recursion, whatever the depth. */
function countNames(root: unknown): number {
  if (!isNested(root)) return 0;
  const open: object[] = [root];
  let count = 0;
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) {
      for (const item of next as unknown[]) if (isNested(item)) open.push(item);
      continue;
    }
    for (const name of Object.keys(next)) {
      count += 1;
      if (refusedKeys.has(name)) {
        throw invalid(`The key ${JSON.stringify(name)} is not accepted; rename or remove it.`);
      }
      const member = (next as Record<string, unknown>)[name];
      if (isNested(member)) open.push(member);
    }
  }
  return count;
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function invalid(message: string, cause?: unknown): AppError {
  return new AppError('invalid_request', message, { cause });
}
