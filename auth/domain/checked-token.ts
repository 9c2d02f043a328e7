import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const bodyLength = 43;
const checksumLength = 6;
const shape = new RegExp(`^[0-9A-Za-z]{${bodyLength + checksumLength}}$`);

/**
 * A credential of the gateway as text: a prefix that tells its kind, 43 base62 characters (256
 * random bits) and 6 of checksum, so that typing errors cost no look-up and secret scanners
 * recognise it (docs/reference/identities.md#agent-keys).
 */
export function formatCheckedToken(prefix: string, random: Uint8Array): string {
  if (random.length !== 32) throw new Error('a token holds exactly 256 random bits');
  const body = base62(BigInt(`0x${Buffer.from(random).toString('hex')}`), bodyLength);
  return `${prefix}${body}${checksumOf(prefix + body)}`;
}

export function isCheckedToken(prefix: string, text: string): boolean {
  const rest = text.slice(prefix.length);
  if (!text.startsWith(prefix) || !shape.test(rest)) return false;
  return checksumOf(prefix + rest.slice(0, bodyLength)) === rest.slice(bodyLength);
}

/** What is stored: 256 random bits need no slow hash. */
export function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

function checksumOf(text: string): string {
  return base62(BigInt(crc32(text)), checksumLength);
}

function base62(value: bigint, length: number): string {
  const digits: string[] = [];
  for (let rest = value; digits.length < length; rest /= 62n) {
    digits.push(alphabet.charAt(Number(rest % 62n)));
  }
  return digits.toReversed().join('');
}
