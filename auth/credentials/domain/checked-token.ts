import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

const base62Alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const tokenBodyLength = 43;
const checksumLength = 6;
const tokenBodyPattern = new RegExp(`^[0-9A-Za-z]{${tokenBodyLength + checksumLength}}$`);

/**
 * Writes a credential as text: a prefix for its kind, 43 base62 characters (256 random bits) and a
 * checksum of 6 characters. The checksum rejects typing errors without a database query. Secret
 * scanners recognise the format (docs/reference/identities.md#agent-keys).
 */
export function formatCheckedToken(prefix: string, random: Uint8Array): string {
  if (random.length !== 32) throw new Error('a token holds exactly 256 random bits');
  const body = toBase62(BigInt(`0x${Buffer.from(random).toString('hex')}`), tokenBodyLength);
  return `${prefix}${body}${checksumOf(prefix + body)}`;
}

export function isCheckedToken(prefix: string, text: string): boolean {
  const encodedRest = text.slice(prefix.length);
  if (!text.startsWith(prefix) || !tokenBodyPattern.test(encodedRest)) return false;
  return (
    checksumOf(prefix + encodedRest.slice(0, tokenBodyLength)) ===
    encodedRest.slice(tokenBodyLength)
  );
}

/**
 * Returns the hash that the database stores instead of the token. A token has 256 random bits, so
 * nobody can guess it, and a fast hash is safe.
 */
export function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function checksumOf(text: string): string {
  return toBase62(BigInt(crc32(text)), checksumLength);
}

function toBase62(value: bigint, length: number): string {
  const digits: string[] = [];
  for (let remaining = value; digits.length < length; remaining /= 62n) {
    digits.push(base62Alphabet.charAt(Number(remaining % 62n)));
  }
  return digits.toReversed().join('');
}
