import { name as nameSchema } from '#contracts/vocabulary';

/** A name for a user, made from an e-mail address or what a provider calls somebody. */
export function suggestUserName(source: string): string {
  const [local = ''] = source.split('@', 1);
  const plain = local
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, '-')
    .replaceAll(/^[^a-z]+|-+$/g, '')
    .slice(0, 50);
  return nameSchema.safeParse(plain).success ? plain : 'user';
}

/** The n-th try at a unique name: `ann`, `ann-2`, `ann-3`, … */
export function numberedName(name: string, attempt: number): string {
  return attempt === 1 ? name : `${name.slice(0, 55)}-${attempt}`;
}
