import { passwordCharacters } from '#contracts/http/sign-in';

/** The Argon2id parameters that OWASP recommends: 19 MiB, two passes, one lane. */
export const argon2Parameters = { memory: 19_456, passes: 2, parallelism: 1 } as const;
export const saltBytes = 16;
export const tagBytes = 32;

export interface PasswordHash {
  readonly memory: number;
  readonly passes: number;
  readonly parallelism: number;
  readonly salt: Buffer;
  readonly tag: Buffer;
}

/** Writes a hash as a PHC string: `$argon2id$v=19$m=19456,t=2,p=1$salt$hash`. */
export function formatPasswordHash({ memory, passes, parallelism, salt, tag }: PasswordHash) {
  const parameters = `m=${memory},t=${passes},p=${parallelism}`;
  return `$argon2id$v=19$${parameters}$${toPlainBase64(salt)}$${toPlainBase64(tag)}`;
}

const phcPattern =
  /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,2}),p=(\d{1,2})\$([A-Za-z0-9+/]{11,64})\$([A-Za-z0-9+/]{22,86})$/;

export function parsePasswordHash(text: string): PasswordHash {
  const [, memory, passes, parallelism, salt = '', tag = ''] = phcPattern.exec(text) ?? [];
  if (tag === '') throw new Error('a stored password hash is not argon2id in PHC string form');
  return {
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    salt: Buffer.from(salt, 'base64'),
    tag: Buffer.from(tag, 'base64'),
  };
}

/**
 * Normalizes Unicode, because keyboards encode the same character differently (NIST SP 800-63B
 * §5.1.1.2).
 */
export function normalizePassword(password: string): string {
  return password.normalize('NFKC');
}

/**
 * Explains in a sentence what is wrong with a new password; null when the password is acceptable.
 */
export function findPasswordProblem(
  typedPassword: string,
  { email }: { email: string },
): string | null {
  const password = normalizePassword(typedPassword);
  const { min, max } = passwordCharacters;
  const { length } = Array.from(password);
  if (length < min) return `The password is too short: use at least ${min} characters.`;
  if (length > max) return `The password is too long: use at most ${max} characters.`;
  if (new Set(password).size < 4)
    return 'The password repeats few characters; use a longer phrase.';
  if (password.toLowerCase() === email.toLowerCase()) {
    return 'The password is the e-mail address; use another one.';
  }
  return null;
}

/** PHC strings use Base64 without padding. */
function toPlainBase64(bytes: Buffer): string {
  return bytes.toString('base64').replace(/=+$/, '');
}
