import { isExact } from './parse-exact-json.ts';
import { branchesOf, isSchema } from './number-schema.ts';
import type { Schema } from './number-schema.ts';

/** A number as digits and the power of ten of the last one. */
interface Decimal {
  readonly digits: bigint;
  readonly power: number;
}

const decimalPattern = /^(-?\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/;

/**
 * How a number violates a schema, by its exact digits; undefined when it violates nothing. For
 * numbers that a double cannot hold exactly: the validator compares the nearest double, so it
 * accepts numbers that exceed a bound by less than the precision of doubles.
 */
export function violationOf(text: string, schema: Schema): string | undefined {
  const number = toDecimal(text);
  const compareTo = (keyword: string) => {
    const bound = schema[keyword];
    return typeof bound === 'number' ? compare(number, toDecimal(String(bound))) : undefined;
  };
  if ((compareTo('maximum') ?? -1) > 0) return `must be at most ${String(schema['maximum'])}`;
  if ((compareTo('minimum') ?? 1) < 0) return `must be at least ${String(schema['minimum'])}`;
  if ((compareTo('exclusiveMaximum') ?? -1) >= 0)
    return `must be less than ${String(schema['exclusiveMaximum'])}`;
  if ((compareTo('exclusiveMinimum') ?? 1) <= 0)
    return `must be more than ${String(schema['exclusiveMinimum'])}`;
  const { multipleOf, allOf } = schema;
  if (typeof multipleOf === 'number' && !isMultiple(number, toDecimal(String(multipleOf))))
    return `must be a multiple of ${multipleOf}`;
  const choices = 'const' in schema ? [schema['const']] : schema['enum'];
  if (Array.isArray(choices) && !choices.some((choice) => isChoice(text, choice)))
    return 'is none of the values that it may have';
  const branches = branchesOf(schema).map((branch) => violationOf(text, branch));
  const branchViolation = branches.includes(undefined) ? undefined : branches[0];
  const allOfViolations = Array.isArray(allOf)
    ? allOf.filter(isSchema).map((each) => violationOf(text, each))
    : [];
  return branchViolation ?? allOfViolations.find((each) => each !== undefined);
}

/** The most digits of a number that calls may give as text, before the point and after it. */
const digitsMax = 400;

/**
 * The form of a number in permission keys, however the text writes the number: `100` for `100.0`
 * and `1e2`. Undefined for a text that is not a number, or that no call can give.
 */
export function canonicalNumber(text: string): string | undefined {
  const [, sign = '', whole, fraction = '', exponent = '0'] = givenPattern.exec(text) ?? [];
  if (whole === undefined || text.length > 2 * digitsMax) return undefined;
  const digits = whole + fraction;
  const pointIndex = whole.length + Number(exponent);
  if (Math.abs(pointIndex) > digitsMax) return undefined;
  const padded = '0'.repeat(Math.max(0, -pointIndex)) + digits;
  const wholeDigits = padded.slice(0, Math.max(0, pointIndex)).padEnd(Math.max(0, pointIndex), '0');
  const fractionDigits = trimZeros(padded.slice(Math.max(0, pointIndex)));
  const plainWhole = wholeDigits.replace(/^0+(?=\d)/, '') || '0';
  const plain = fractionDigits === '' ? plainWhole : `${plainWhole}.${fractionDigits}`;
  if (plain === '0') return plain;
  const signed = sign === '-' ? `-${plain}` : plain;
  return isExact(signed, Number(signed)) ? String(Number(signed)) : signed;
}

const givenPattern = /^([+-]?)(\d+)(?:\.(\d*))?(?:e([+-]?\d{1,4}))?$/i;

function trimZeros(digits: string): string {
  let { length } = digits;
  while (length > 0 && digits[length - 1] === '0') length -= 1;
  return digits.slice(0, length);
}

/**
 * The template has a whole number beyond 2^53 as a double, so every number with this double
 * matches.
 */
function isChoice(text: string, choice: unknown): boolean {
  return (
    Number.isInteger(choice) && !Number.isSafeInteger(choice) && Number(text) === (choice as number)
  );
}

function toDecimal(text: string): Decimal {
  const [, whole = '0', fraction = '', exponent = '0'] = decimalPattern.exec(text) ?? [];
  return { digits: BigInt(whole + fraction), power: Number(exponent) - fraction.length };
}

function compare(left: Decimal, right: Decimal): number {
  const [one, other] = alignPowers(left, right);
  return one < other ? -1 : one > other ? 1 : 0;
}

function isMultiple(number: Decimal, unit: Decimal): boolean {
  const [one, other] = alignPowers(number, unit);
  return other === 0n || one % other === 0n;
}

/** Texts have at most 400 digits on each side of the point, and powers of doubles are below 325. */
function alignPowers(left: Decimal, right: Decimal): [bigint, bigint] {
  const power = Math.min(left.power, right.power);
  const scaled = ({ digits, power: own }: Decimal) => digits * 10n ** BigInt(own - power);
  return [scaled(left), scaled(right)];
}
