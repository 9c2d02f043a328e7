import { AppError } from '#errors';

/** The parts of a secret by their names, read from the JSON object that its value is. */
export type SecretParts = ReadonlyMap<string, string>;

const partCharactersMax = 8_192;

/**
 * Reads the parts of a secret. Members that are no texts or numbers do not count, so the key file of
 * a provider can be stored as it is. Throws `credential_missing` when a required part is absent.
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

/** The error for a secret that cannot be used as its service needs it. `problem` is a clause. */
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
 * Fills a text with the values of parts. Undefined when a part in it is absent. `encode` writes a
 * value for its place.
 */
export function fillInParts(
  text: string,
  parts: SecretParts,
  encode: (value: string, part: string) => string = (value) => value,
): string | undefined {
  let isComplete = true;
  const filled = text.replaceAll(/\{([a-z][a-z0-9_]*)\}/g, (_whole, part: string) => {
    const value = parts.get(part);
    if (value === undefined) isComplete = false;
    return value === undefined ? '' : encode(value, part);
  });
  return isComplete ? filled : undefined;
}
