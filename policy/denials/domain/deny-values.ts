import type { JsonValue } from '#contracts/vocabulary';
import { encodeArgument } from '#permission-key';
import { foldText, hasTooManyMarks } from './folding.ts';
import { decodePercents, partsOf, splitText } from './value-parts.ts';

/**
 * The most texts in one value that are compared with deny rules; a value with more texts counts as
 * unknown.
 */
const valueTextsMax = 100;
const valueCharactersMax = 4096;

/** The beginning of an encoded word (RFC 2047), by which a mail address can hold any other text. */
const encodedWord = /=\?[^?\s]{1,100}\?[bq]\?/i;

/**
 * The arguments that a value stands for: the value itself, each item of a list, each member of an
 * object, and each address of an address list. Undefined when the value has none or too many, holds
 * bytes that are not text, an encoded word, or too many combining marks in a row.
 */
export function argumentsIn(value: JsonValue): string[] | undefined {
  const foundTexts = new Set<string>();
  const pendingValues: JsonValue[] = [value];
  let [left, items] = [valueCharactersMax, valueTextsMax];
  for (let next = pendingValues.pop(); next !== undefined; next = pendingValues.pop()) {
    if (next !== null && typeof next === 'object') {
      const members = Array.isArray(next) ? next : Object.values(next);
      items -= members.length;
      if (items < 0) return undefined;
      pendingValues.push(...members);
      continue;
    }
    const text = typeof next === 'string' ? next : JSON.stringify(next);
    left -= text.length;
    if (left < 0 || text.includes('\ufffd') || encodedWord.test(text)) return undefined;
    if (hasTooManyMarks(text)) return undefined;
    for (const part of partsOf(text)) foundTexts.add(encodeArgument(part));
    if (foundTexts.size > valueTextsMax) return undefined;
  }
  return foundTexts.size === 0 ? undefined : [...foundTexts];
}

/**
 * The arguments and readings of a value, which are compared with deny rules. If the budget is used
 * up, both are unknown.
 */
export interface ReadValueResult {
  readonly args: readonly string[] | undefined;
  readonly readings: readonly JsonValue[];
}
export type ReadValue = (value: JsonValue) => ReadValueResult;

const unknownReadResult: ReadValueResult = { args: undefined, readings: [] };
/** The cost of reading a value, in steps: a fixed part and a part per character. */
const stepsPerCharacter = 20;
const stepsPerValue = 500;

/** Reads each value of a request once, even if it may be a parameter of many operations. */
export function createValueReader(budget: { left: number }): ReadValue {
  const resultsByValue = new Map<JsonValue, ReadValueResult>();
  return (value) => {
    let result = resultsByValue.get(value);
    if (result !== undefined) return result;
    const length = typeof value === 'string' ? value.length : valueCharactersMax;
    budget.left -= stepsPerValue + stepsPerCharacter * Math.min(length, valueCharactersMax);
    if (budget.left < 0) return unknownReadResult;
    const args = argumentsIn(value);
    result = args === undefined ? unknownReadResult : { args, readings: readingsOf(value) };
    resultsByValue.set(value, result);
    return result;
  };
}

/**
 * The arguments that the argument of a permission key stands for. The key holds only the text of
 * the value.
 */
export function argumentsOfKey(arg: string): string[] | undefined {
  const text = arg.replaceAll(/(?:%[0-9A-F]{2})+/g, decodePercents);
  const nestedArguments = argumentsIn(/^[[{]/.test(text) ? parseScalar(text) : text);
  return nestedArguments === undefined ? undefined : [...new Set([arg, ...nestedArguments])];
}

/**
 * The values that an upstream may read, beginning with the value as given: in other letter case,
 * or, for text of a path or query, the number or list that the text denotes.
 */
function readingsOf(value: JsonValue): JsonValue[] {
  const items: JsonValue[] = Array.isArray(value) ? value : [value];
  const list = items.flatMap((each): JsonValue[] =>
    typeof each === 'string' ? splitText(each) : [each],
  );
  const literalValues: JsonValue[] = [value, list];
  return [
    ...literalValues,
    ...literalValues.map((each) => mapTexts(each, (text) => foldText(text).bare)),
    ...literalValues.map((each) => mapTexts(each, toExactScalar)),
  ];
}

function mapTexts(value: JsonValue, map: (text: string) => JsonValue): JsonValue {
  if (typeof value === 'string') return map(value);
  if (!Array.isArray(value)) return value;
  return value.map((each) => (typeof each === 'string' ? map(each) : each));
}

/**
 * Converts text to a number only if the number would be written the same way: `07` may or may not
 * mean `7`.
 */
function toExactScalar(text: string): JsonValue {
  if (text === 'true' || text === 'false') return text === 'true';
  const number = Number(text);
  return text !== '' && Number.isFinite(number) && String(number) === text ? number : text;
}

function parseScalar(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch {
    return text;
  }
}
