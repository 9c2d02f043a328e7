/**
 * The identifier that a text spells, in one spelling of it: a number (`1` for `01`, `+1`, `1.0` and `1_0`
 * without its `_`), the digits of a phone number, a UUID without its hyphens. Undefined: none.
 */
export function identifierIn(text: string): string | undefined {
  if (text.length > charactersMax || !startsIdentifier.test(text)) return undefined;
  const plain = asciiDigits(text);
  const uuid = plain.replaceAll(/^\{|^urn:uuid:|[-}]/g, '');
  if (/^[0-9a-f]{32}$/.test(uuid)) return uuid;
  return numberIn(plain.replaceAll(/(?<=[0-9])_(?=[0-9])/g, '')) ?? phoneNumberIn(plain);
}

/** The number that a text begins with, which is all that many servers read: `1` for `1-title`. */
export function leadingNumberIn(text: string): string | undefined {
  if (!startsIdentifier.test(text)) return undefined;
  const [digits] = /^\+?[0-9]{1,40}(?![0-9])/.exec(asciiDigits(text)) ?? [];
  return digits === undefined ? undefined : numberIn(digits);
}

/** The usual spelling of a UUID. */
export function hyphenatedUuidIn(text: string): string | undefined {
  const parts = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/.exec(identifierIn(text) ?? '')?.slice(1);
  return parts?.join('-');
}

const charactersMax = 60;
const startsIdentifier = /^(?:[+-]?\.?\p{Nd}|[{(a-f]|urn:uuid:)/u;

/** Computed as text: ids can have more digits than a number holds. */
function numberIn(text: string): string | undefined {
  if (/^0x[0-9a-f]+$/.test(text)) return BigInt(text).toString();
  const [, sign, whole = '', fraction = '', exponent = '0'] = decimal.exec(text) ?? [];
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (digits === '' || Math.abs(Number(exponent)) > charactersMax) return undefined;
  const padded = digits.padEnd(point, '0').padStart(digits.length - Math.min(point, 0), '0');
  const at = Math.max(point, 0);
  const [before, after] = [padded.slice(0, at), padded.slice(at)];
  const plain = `${before.replace(/^0+(?=.)/, '') || '0'}.${after}`.replace(/\.?0*$/, '');
  return sign === '-' && plain !== '0' ? `-${plain}` : plain;
}

const decimal = /^([+-]?)([0-9]*)(?:\.([0-9]*))?(?:e([+-]?[0-9]+))?$/;

/** `+1 (555) 123-4567` */
function phoneNumberIn(text: string): string | undefined {
  const digits = text.replaceAll(/[\s().-]/g, '').replace(/^\+/, '');
  return /^[+(]?[0-9]/.test(text) && /^[0-9]{7,}$/.test(digits) ? numberIn(digits) : undefined;
}

/** Digits of other scripts, which stand in runs of ten from 0 to 9, as many languages read them. */
function asciiDigits(text: string): string {
  return text.replaceAll(/(?![0-9])\p{Nd}/gu, (digit) => {
    const code = digit.codePointAt(0) ?? 0;
    let zero = code;
    while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
    return String((code - zero) % 10);
  });
}
