import { isUtf8 } from 'node:buffer';

import { AppError } from '#errors';
import { parseExactJson } from '#exact-json';
import type { ExactJson } from '#exact-json';
import { measureJson } from './json-size.ts';
import type { JsonLimits, JsonSize } from './json-size.ts';

const refusedNames = new Set(['__proto__', 'constructor']);

export interface ParsedJson extends JsonSize {
  readonly value: unknown;
}

/**
 * Parses untrusted JSON, which must be UTF-8 and within the limits. A name may occur only once in
 * an object, because parsers disagree on which of two duplicates to use. Names that have a meaning
 * in JavaScript objects are refused. Nothing is parsed if `onMeasured` throws.
 */
export function parseUntrustedJson(
  bytes: Buffer,
  limits: JsonLimits,
  {
    onMeasured,
    places = findPlaceOfParams,
  }: { onMeasured?: ((size: JsonSize) => void) | undefined; places?: PlaceOfParams } = {},
): ParsedJson {
  if (!isUtf8(bytes)) throw invalidJsonError('The body is not UTF-8; send JSON encoded as UTF-8.');
  const size = measureJson(bytes, limits);
  onMeasured?.(size);
  const value = settleInexactNumbers(parse(bytes.toString('utf8')), places);
  // If two members have the same name, the parser keeps only one of them. So there is a duplicate
  // if fewer names are counted here than were measured.
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
  const places = () => [];
  return parseUntrustedJson(Buffer.from(text, 'utf8'), limits, { onMeasured, places }).value;
}

/** A number that parsing to a double would change (`parseExactJson`). */
class InexactNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

/** Returns the names that lead from the root to the params of an action. */
type PlaceOfParams = (root: unknown) => readonly string[];

/** The member `params` is at the root of a REST call, and in the arguments of an MCP tool call. */
function findPlaceOfParams(root: unknown): readonly string[] {
  const isToolCall = isNested(root) && Object.hasOwn(root, 'jsonrpc');
  return isToolCall ? ['params', 'arguments', 'params'] : ['params'];
}

/**
 * Handles the numbers that parsing would change. In the params of an action they become texts; the
 * action later writes them as numbers where it takes a number. Elsewhere they are refused: there
 * they have no meaning, or they are in a body that is sent as it is. The values are nested at most
 * 64 levels deep.
 */
function settleInexactNumbers(
  { value: root, inexactCount }: ExactJson,
  places: PlaceOfParams,
): unknown {
  if (inexactCount === 0) return root;
  const paramsPath = places(root);
  const isWithin = (path: readonly string[]) => paramsPath.every((name, at) => path[at] === name);
  const settle = (value: object, path: readonly string[]): void => {
    const isParams = isWithin(path);
    for (const [name, member] of Object.entries(value)) {
      if (member instanceof InexactNumber) {
        if (!isParams && !isWithin([...path, name])) {
          throw inexactNumberError([...path, name].join('.'), member.text);
        }
        (value as Record<string, unknown>)[name] = member.text;
      } else if (isNested(member)) settle(member, [...path, name]);
    }
  };
  if (root instanceof InexactNumber) throw inexactNumberError('', root.text);
  if (isNested(root)) settle(root, []);
  return root;
}

function inexactNumberError(path: string, text: string): AppError {
  const message = 'is a number that JSON readers change';
  return new AppError(
    'invalid_request',
    'The JSON has a number of more digits than readers keep; send it as text, or a body as JSON text, which is sent as it is.',
    { details: { issues: [{ path, message: `${message}: ${text.slice(0, 40)}` }] } },
  );
}

/**
 * The most numbers in one text that parsing would change. Lists of ids are shorter. Reading such a
 * number costs a hundred times as much as reading a short one.
 */
const inexactNumbersMax = 10_000;

function tooManyNumbersError(): AppError {
  return new AppError(
    'too_large',
    `The JSON has more than ${inexactNumbersMax.toLocaleString('en')} numbers of more digits than readers keep; send them as text, or in several requests.`,
    { details: { limit: 'long_numbers', max: inexactNumbersMax } },
  );
}

function parse(text: string): ExactJson {
  let count = 0;
  try {
    return parseExactJson(text, (numberText) => {
      count += 1;
      if (count > inexactNumbersMax) throw tooManyNumbersError();
      return new InexactNumber(numberText);
    });
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
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
