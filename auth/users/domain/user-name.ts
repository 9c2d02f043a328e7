import { name as nameSchema } from '#contracts/vocabulary';

/** Derives a user name from an e-mail address; `user` when no part of it can be used. */
export function suggestUserName(source: string): string {
  const [local = ''] = source.split('@', 1);
  const asciiName = local
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '')
    .slice(0, 50);
  return nameSchema.safeParse(asciiName).success ? asciiName : 'user';
}

/**
 * Returns the name for the n-th attempt to find one that no other user has: `ann`, `ann-2`,
 * `ann-3`, …
 */
export function toNumberedName(name: string, attempt: number): string {
  return attempt === 1 ? name : `${name.slice(0, 55)}-${attempt}`;
}
