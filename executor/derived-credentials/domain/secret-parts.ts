import { AppError } from '#errors';

/**
 * The parts of a secret by name. The value of such a secret is a JSON object with the parts as
 * members.
 */
export type SecretParts = ReadonlyMap<string, string>;

const partCharactersMax = 8_192;

/**
 * Reads the parts of a secret. Ignores members that are neither strings nor numbers, so a
 * provider's key file can be stored as it is. Throws `credential_missing` when a required part is
 * absent.
 */
export function readParts(
  value: string,
  { name, required }: { name: string; required: readonly string[] },
): SecretParts {
  const parts = new Map<string, string>();
  for (const [member, text] of Object.entries(parseObject(value) ?? {})) {
    const part = typeof text === 'number' ? String(text) : text;
    if (typeof part === 'string' && part !== '' && part.length <= partCharactersMax) {
      parts.set(member, part);
    }
  }
  const missing = required.filter((part) => !parts.has(part));
  if (missing.length === 0) return parts;
  throw unfitSecretError(
    name,
    `lacks ${missing.join(', ')}. Its owner stores it again as a JSON object with ${required.join(', ')}`,
    { parts: missing },
  );
}

/** The error for a secret that does not fit its service. `problem` is a clause. */
export function unfitSecretError(
  name: string,
  problem: string,
  details: Record<string, string | string[]> = {},
): AppError {
  return new AppError('credential_missing', `The secret "${name}" ${problem}.`, {
    details: { secret: name, ...details },
  });
}

function parseObject(text: string): object | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Replaces the names of parts in a text by their values. Undefined when one of these parts is
 * absent. `encode` encodes each value for its place.
 */
export function fillInParts(
  text: string,
  parts: SecretParts,
  encode: (value: string, part: string) => string = (value) => value,
): string | undefined {
  let isComplete = true;
  const filledText = text.replaceAll(/\{([a-z][a-z0-9_]*)\}/g, (_whole, part: string) => {
    const value = parts.get(part);
    if (value === undefined) isComplete = false;
    return value === undefined ? '' : encode(value, part);
  });
  return isComplete ? filledText : undefined;
}
