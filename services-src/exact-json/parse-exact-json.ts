import type { JsonValue } from '../contracts/vocabulary.ts';

export interface ExactJson {
  readonly value: JsonValue;
  /** How many numbers were replaced. */
  readonly inexactCount: number;
}

/**
 * A number outside of quotes that may not survive parsing: one of sixteen or more characters, or
 * one with an exponent. Few texts have any, and these alone are parsed number by number.
 */
const longNumberPattern = /(?:^|[:,[\s])-?(?:[\d.]{16}|[\d.]+[eE])/;
const zeroCode = 0x30;
const numberPattern = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/**
 * Parses JSON without changing a number. Numbers of JSON have any number of digits (RFC 8259 §6),
 * but those of JavaScript only about sixteen: the id 9007199254740993 would become
 * 9007199254740992, which identifies something else. Such a number is replaced by what `replace`
 * returns for its text; by default by the text itself. Throws a SyntaxError for text that is not
 * JSON.
 */
export function parseExactJson(
  text: string,
  replace: (numberText: string) => unknown = (numberText) => numberText,
): ExactJson {
  if (!longNumberPattern.test(text))
    return { value: JSON.parse(text) as JsonValue, inexactCount: 0 };
  let inexactCount = 0;
  const revive = (_: string, value: unknown, context: { source?: string }): unknown => {
    const { source } = context;
    if (typeof value !== 'number' || source === undefined || isExact(source, value)) return value;
    inexactCount += 1;
    return replace(source);
  };
  const parse = JSON.parse as (text: string, reviver: typeof revive) => JsonValue;
  return { value: parse(text, revive), inexactCount };
}

/**
 * Whether the shortest text of the number means the same as the text that the number was parsed
 * from. All whole numbers beyond 2^53 count as inexact, so that similar ids are all given as text.
 */
export function isExact(source: string, value: number): boolean {
  if (/^-?\d+$/.test(source)) return Number.isSafeInteger(value);
  return toDecimal(source) === toDecimal(String(value));
}

/** A number as its digits and the power of ten, so that 1.50 and 15e-1 have one text. */
function toDecimal(text: string): string | undefined {
  const match = numberPattern.exec(text);
  if (match === null) return undefined; // Infinity
  const [, whole = '', fraction = '', exponent = '0'] = match;
  const digits = `${whole}${fraction}`.replace(/^0+/, '');
  // A pattern for zeros at the end would look at each run of zeros again and again.
  let length = digits.length;
  while (length > 0 && digits.charCodeAt(length - 1) === zeroCode) length -= 1;
  const significantDigits = digits.slice(0, length);
  if (significantDigits === '') return '0';
  const power = Number(exponent) - fraction.length + digits.length - significantDigits.length;
  return `${text.startsWith('-') ? '-' : ''}${significantDigits}e${power}`;
}
