import type { HttpMethod } from '#contracts/vocabulary';
import type { CallBody } from '#contracts/http/actions';
import { httpMethods } from '#contracts/value-sets';
import { misuse } from '../refusal.ts';
import { parseJsonOption } from './input.ts';

type PerCallSecret = NonNullable<CallBody['secrets']>[number];

/**
 * Returns the params of a call as JSON text: first the params of `--json-params`, then each
 * `--param`. `name=value` makes a string, and `name:=JSON` a JSON value. JSON values stay as the
 * person has written them, so that the gateway sees all digits of a number, and refuses an object
 * with a duplicate name.
 *
 * @throws Refusal if a param has no name, has two values, or is not JSON.
 */
export function readParams(params: readonly string[], jsonText = '{}'): string {
  const baseParams = parseJsonOption(jsonText, '--json-params');
  if (typeof baseParams !== 'object' || baseParams === null || Array.isArray(baseParams)) {
    throw misuse('--json-params is not a JSON object.');
  }
  const givenNames = new Set(Object.keys(baseParams));
  const members: string[] = [];
  for (const param of params) {
    const [, name, isJson, value = ''] = /^([^=]+?)(:?)=(.*)$/s.exec(param) ?? [];
    if (name === undefined) throw misuse('Write --param as name=value, or name:=JSON.');
    if (givenNames.has(name))
      throw misuse(`--param ${name} is given twice: use ${name}:=[…] for a list.`);
    givenNames.add(name);
    if (isJson === ':') parseJsonOption(value, `--param ${name}`);
    members.push(`${JSON.stringify(name)}:${isJson === ':' ? value : JSON.stringify(value)}`);
  }
  const own = jsonText.trim().slice(1, -1).trim();
  return `{${[...(own === '' ? [] : [own]), ...members].join(',')}}`;
}

/**
 * Reads the headers of `--header 'Name: value'`.
 *
 * @throws Refusal if a header does not have this form, or is given twice.
 */
export function readHeaders(headers: readonly string[]): Record<string, string> {
  const values = new Map<string, string>();
  for (const header of headers) {
    const [, name, value = ''] = /^([^\s:]+):(.*)$/s.exec(header) ?? [];
    if (name === undefined) throw misuse("Write --header as 'Name: value'.");
    if (values.has(name)) throw misuse(`--header ${name} is given twice.`);
    values.set(name, value.trim());
  }
  return Object.fromEntries(values);
}

/**
 * Reads `--secret name=header:Name` or `name=query:name`: the gateway puts the value of the secret
 * into this header or query parameter. Text after a second colon goes before the value, as in
 * `token=header:Authorization:Bearer `.
 *
 * @throws Refusal if the option does not have this form.
 */
export function readSecret(secret: string): PerCallSecret {
  const [, name, place, key, prefix] =
    /^([^=]+)=(header|query):([^:]+)(?::(.*))?$/s.exec(secret) ?? [];
  if (name === undefined || key === undefined) {
    throw misuse('Write --secret as name=header:Header-Name or name=query:parameter.');
  }
  return {
    name,
    in: place as PerCallSecret['in'],
    key,
    ...(prefix !== undefined && prefix !== '' && { prefix }),
  };
}

/** @throws Refusal unless the text is an HTTP method that the gateway sends, in any letter case. */
export function readMethod(text: string): HttpMethod {
  const method = httpMethods.find((each) => each === text.toUpperCase());
  if (method !== undefined) return method;
  throw misuse(`"${text}" is not one of the methods ${httpMethods.join(', ')}.`);
}

/** @throws Refusal unless the key has 1 to 200 printable ASCII characters without spaces. */
export function readIdempotencyKey(key: string): string {
  if (/^[\x21-\x7E]{1,200}$/.test(key)) return key;
  throw misuse('--idempotency-key is 1 to 200 printable ASCII characters without spaces.');
}
