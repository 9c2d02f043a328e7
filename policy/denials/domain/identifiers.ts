/**
 * The identifier that a text denotes, in one fixed form: a number (`1` for `01`, `+1`, `1.0`; `10`
 * for `1_0`), the digits of a phone number, or a UUID without hyphens. Undefined when the text
 * denotes none.
 */
export function identifierIn(text: string): string | undefined {
  if (text.length > identifierCharactersMax || !identifierStart.test(text)) return undefined;
  const digitsText = toAsciiDigits(text);
  const uuid = digitsText.replaceAll(/^\{|^urn:uuid:|[-}]/g, '');
  if (/^[0-9a-f]{32}$/.test(uuid)) return uuid;
  return numberIn(digitsText.replaceAll(/(?<=[0-9])_(?=[0-9])/g, '')) ?? phoneNumberIn(digitsText);
}

/** The number with which a text begins. Many servers read only that number: `1` in `1-title`. */
export function leadingNumberIn(text: string): string | undefined {
  if (!identifierStart.test(text)) return undefined;
  const [digits] = /^\+?[0-9]{1,40}(?![0-9])/.exec(toAsciiDigits(text)) ?? [];
  return digits === undefined ? undefined : numberIn(digits);
}

/** The UUID that a text denotes, in its usual form, with hyphens. */
export function hyphenatedUuidIn(text: string): string | undefined {
  const parts = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/.exec(identifierIn(text) ?? '')?.slice(1);
  return parts?.join('-');
}

const identifierCharactersMax = 60;
const identifierStart = /^(?:[+-]?\.?\p{Nd}|[{(a-f]|urn:uuid:)/u;

/**
 * The number that a text denotes, as text, because ids can have more digits than a JavaScript
 * number can hold.
 */
function numberIn(text: string): string | undefined {
  if (/^0x[0-9a-f]+$/.test(text)) return BigInt(text).toString();
  const [, sign, integerDigits = '', fraction = '', exponent = '0'] = decimal.exec(text) ?? [];
  const digits = integerDigits + fraction;
  const pointPosition = integerDigits.length + Number(exponent);
  if (digits === '' || Math.abs(Number(exponent)) > identifierCharactersMax) return undefined;
  const padded = digits
    .padEnd(pointPosition, '0')
    .padStart(digits.length - Math.min(pointPosition, 0), '0');
  const pointIndex = Math.max(pointPosition, 0);
  const [before, after] = [padded.slice(0, pointIndex), padded.slice(pointIndex)];
  const plainNumber = `${before.replace(/^0+(?=.)/, '') || '0'}.${after}`.replace(/\.?0*$/, '');
  return sign === '-' && plainNumber !== '0' ? `-${plainNumber}` : plainNumber;
}

const decimal = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]+))?$/;

/** The digits of a phone number such as `+1 (555) 123-4567`. */
function phoneNumberIn(text: string): string | undefined {
  const digits = text.replaceAll(/[\s().-]/g, '').replace(/^\+/, '');
  return /^[+(]?[0-9]/.test(text) && /^[0-9]{7,}$/.test(digits) ? numberIn(digits) : undefined;
}

/**
 * Converts the digits of other scripts to ASCII digits. In Unicode, the digits 0 to 9 of each
 * script follow one another.
 */
function toAsciiDigits(text: string): string {
  return text.replaceAll(/(?![0-9])\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    let zeroCode = code;
    while (/\p{Nd}/u.test(String.fromCodePoint(zeroCode - 1))) zeroCode -= 1;
    return String((code - zeroCode) % 10);
  });
}
