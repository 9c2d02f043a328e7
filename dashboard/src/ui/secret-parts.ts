import type { CredentialPart } from '#contracts/credential-derivation';

/** The most characters that a secret's value may have. */
export const secretValueMax = 8192;

/** The entered parts of a secret's value. */
export function parseParts(value: string): Record<string, string> {
  return value === '' ? {} : (JSON.parse(value) as Record<string, string>);
}

/**
 * Adds one part to the value. If a person pastes a whole key file (a JSON object) into one field,
 * all parts that the file contains are filled in.
 */
export function addPart(
  value: string,
  needed: readonly CredentialPart[],
  entered: { readonly name: string; readonly text: string },
): string {
  const file = parseObject(entered.text);
  const givenParts = file ?? { [entered.name]: entered.text };
  const names = new Set(needed.map(({ name }) => name));
  const knownParts = Object.entries(givenParts).flatMap(([name, text]) =>
    typeof text === 'string' && names.has(name) ? [[name, text]] : [],
  );
  const mergedEntries = Object.entries({ ...parseParts(value), ...Object.fromEntries(knownParts) });
  const nonEmptyEntries = mergedEntries.filter(([, text]) => text !== '');
  return nonEmptyEntries.length === 0 ? '' : JSON.stringify(Object.fromEntries(nonEmptyEntries));
}

function parseObject(text: string): Record<string, unknown> | undefined {
  if (!text.trimStart().startsWith('{')) return undefined;
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
