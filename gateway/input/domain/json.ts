import { isUtf8 } from 'node:buffer';

import { AppError } from '#errors';
import { measureJson } from './json-size.ts';
import type { JsonLimits, JsonSize } from './json-size.ts';

const refusedNames = new Set(['__proto__', 'constructor']);

export interface ParsedJson extends JsonSize {
  readonly value: unknown;
}

/**
 * Parses untrusted JSON, which must be UTF-8 and within the limits. A name may occur only once in
 * an object, because parsers disagree on which of two duplicates to use. Names with a meaning to
 * JavaScript objects are refused. Nothing is parsed if `onMeasured` throws.
 */
export function parseUntrustedJson(
  bytes: Buffer,
  limits: JsonLimits,
  onMeasured?: (size: JsonSize) => void,
): ParsedJson {
  if (!isUtf8(bytes)) throw invalidJsonError('The body is not UTF-8; send JSON encoded as UTF-8.');
  const size = measureJson(bytes, limits);
  onMeasured?.(size);
  const value = parse(bytes.toString('utf8'));
  // Of two members with the same name the parser keeps only one, so a count below the measured one
  // reveals a duplicate.
  if (countNames(value) !== size.names) {
    throw invalidJsonError('The JSON has an object with the same name twice; send each name once.');
  }
  return { ...size, value };
}

/** Like `parseUntrustedJson`, for JSON inside a string. */
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
    // The parser's message quotes the body, so the caller does not see it; it is kept as the cause.
    throw invalidJsonError('The body is not valid JSON; check quotes, commas and brackets.', cause);
  }
}

/**
 * Counts all member names and refuses unsafe ones. Does not recurse, so that deep JSON cannot
 * exhaust the stack.
 */
function countNames(root: unknown): number {
  if (!isNested(root)) return 0;
  const openValues: object[] = [root];
  let count = 0;
  for (let next = openValues.pop(); next !== undefined; next = openValues.pop()) {
    if (Array.isArray(next)) {
      for (const item of next as unknown[]) if (isNested(item)) openValues.push(item);
      continue;
    }
    for (const name of Object.keys(next)) {
      count += 1;
      if (refusedNames.has(name)) {
        throw invalidJsonError(
          `The key ${JSON.stringify(name)} is not accepted; rename or remove it.`,
        );
      }
      const member = (next as Record<string, unknown>)[name];
      if (isNested(member)) openValues.push(member);
    }
  }
  return count;
}

function isNested(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}

function invalidJsonError(message: string, cause?: unknown): AppError {
  return new AppError('invalid_request', message, { cause });
}
