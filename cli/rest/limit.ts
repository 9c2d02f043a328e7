import { misuse } from '../refusal.ts';

const limitDefault = 50;
/** The most entries that a command requests. */
export const listLimitMax = 1_000;

/**
 * The number of list entries that a person wants.
 *
 * @throws Refusal if it is not a number from 1 to 1,000.
 */
export function readLimit({ limit }: { readonly limit?: string }): number {
  if (limit === undefined) return limitDefault;
  const count = /^\d{1,4}$/.test(limit) ? Number(limit) : 0;
  if (count >= 1 && count <= listLimitMax) return count;
  throw misuse(`--limit is a number from 1 to ${listLimitMax}.`);
}
