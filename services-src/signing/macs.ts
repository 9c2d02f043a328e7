import { timingSafeEqual } from 'node:crypto';

import { canonicalJson } from './canonical-json.ts';
import { macOf, payloadDigest, readKey } from './statements.ts';

/** A MAC that travels beside what it is of, in whatever order its fields are. */
export interface Macs {
  of(value: unknown): string;
  holds(value: unknown, mac: string): boolean;
}

/** How much deeper than a call, which is 64 levels at most, what is shown of it may be. */
const shownLevels = -8;

export function createMacs(purpose: 'card', text: string): Macs {
  const key = readKey(text);
  const of = (value: unknown) => {
    const digest = payloadDigest(purpose, canonicalJson(value, shownLevels));
    return `${key.id}:${macOf(key, digest).toString('base64url')}`;
  };
  return {
    of,
    holds(value, mac) {
      const [given, expected] = [Buffer.from(mac), Buffer.from(of(value))];
      return given.length === expected.length && timingSafeEqual(given, expected);
    },
  };
}
