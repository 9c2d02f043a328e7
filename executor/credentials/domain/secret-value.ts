import { AppError } from '#errors';
import { hiddenCharacters } from '#hidden-characters';

/** A shorter value occurs in many answers by chance, so the scrubber could not remove it. */
const valueCharactersMin = 4;
// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const controlCharacters = /[\u0000-\u001f\u007f-\u009f]/;
const blankAtAnEnd = /^\p{Zs}|\p{Zs}$/u;
const invisibleCharacters = new RegExp(`[\\u00a0${hiddenCharacters}]`, 'u');
/** Matches `Bearer abc`, `Token token=abc` and `X-Api-Key: abc`: a word, a blank and more text. */
const schemeAndValue = /^[a-z][a-z0-9-]{0,40}:? +\S|^(?:authorization:|token=)/i;
const inQuotes = /^(["'`]).*\1$|^“.*”$/su;

const controlProblem = 'must not hold line breaks or other control characters';
const schemeProblem =
  'must not begin with a header name or a scheme such as "Bearer", which the gateway writes itself';

/**
 * The value as it is stored. A JSON object with line breaks between its members, such as a key
 * file, is written on one line.
 */
export function toStoredSecretValue(value: string): string {
  if (!/[\r\n\t]/.test(value)) return value;
  const parts = parseParts(value);
  return parts === undefined ? value : JSON.stringify(parts);
}

/**
 * Refuses a value that a header cannot carry unchanged, such as one with a line feed. Also refuses
 * a value that probably has something besides the secret, unless `asIs` is set. Throws
 * `invalid_params`, with `reason: looks_pasted` if `asIs` would help. No error contains the value.
 */
export function checkSecretValue(
  value: string,
  { asIs = false }: { asIs?: boolean | undefined } = {},
): void {
  if (value.length < valueCharactersMin) {
    const message = `must have at least ${valueCharactersMin} characters`;
    throw new AppError(
      'invalid_params',
      `The value of a secret ${message}: a shorter one could not be kept out of answers.`,
      { details: { issues: [{ path: 'value', message }] } },
    );
  }
  if (controlCharacters.test(value) || !value.isWellFormed()) {
    throw new AppError(
      'invalid_params',
      `The value of a secret ${controlProblem}. Check what was pasted.`,
      { details: { issues: [{ path: 'value', message: controlProblem }] } },
    );
  }
  const problem = asIs ? undefined : findPastedProblem(value);
  if (problem === undefined) return;
  throw new AppError(
    'invalid_params',
    `The value of a secret ${problem}. Check what was pasted, or send as_is: true to store exactly this.`,
    { details: { reason: 'looks_pasted', issues: [{ path: 'value', message: problem }] } },
  );
}

/** Describes what was probably pasted with the secret. The words follow "The value". */
function findPastedProblem(value: string): string | undefined {
  const parts = parseParts(value);
  if (parts === undefined) {
    const problem = findInvisibleProblem(value);
    if (problem !== undefined) return problem;
    if (schemeAndValue.test(value)) return schemeProblem;
    return inQuotes.test(value) ? 'must not stand in quotes' : undefined;
  }
  for (const part of Object.values(parts)) {
    if (typeof part !== 'string') continue;
    const isPem = part.includes('-----BEGIN');
    const problem =
      findInvisibleProblem(part) ??
      (controlCharacters.test(part) && !isPem ? controlProblem : undefined);
    if (problem !== undefined) return `consists of parts, which ${problem}`;
  }
  return undefined;
}

function findInvisibleProblem(text: string): string | undefined {
  if (blankAtAnEnd.test(text)) return 'must not begin or end with a blank';
  return invisibleCharacters.test(text) ? 'must not contain invisible characters' : undefined;
}

function parseParts(value: string): Record<string, unknown> | undefined {
  if (!value.trimStart().startsWith('{')) return undefined;
  try {
    return JSON.parse(value) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
