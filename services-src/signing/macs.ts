import { timingSafeEqual } from 'node:crypto';

import { toCanonicalJson } from './canonical-json.ts';
import { macOf, payloadDigestOf, readKey } from './statements.ts';

/**
 * Makes and verifies a MAC that is sent beside the object that it authenticates; the order of the
 * object's fields does not matter.
 */
export interface Macs {
  toMac(value: unknown): string;
  holds(value: unknown, mac: string): boolean;
}

/**
 * The start of the nesting count for what an approval shows: it may be eight levels deeper than a
 * call, which has at most 64.
 */
const shownDepthStart = -8;

export function createMacs(purpose: 'card', keyText: string): Macs {
  const key = readKey(keyText);
  const computeMac = (value: unknown) => {
    const digest = payloadDigestOf(purpose, toCanonicalJson(value, shownDepthStart));
    return `${key.id}:${macOf(key, digest).toString('base64url')}`;
  };
  return {
    toMac: computeMac,
    holds(value, mac) {
      const [given, expected] = [Buffer.from(mac), Buffer.from(computeMac(value))];
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
