import type { ShownCredential } from '#contracts/audit';
import type { Injection } from '#contracts/permit';

/** Which credential goes where, and on which account it acts if that is known. */
export function toShownCredential(
  { kind, credentialName: name, in: place, key, prefix }: Injection,
  account: string | null = null,
): ShownCredential {
  return {
    kind,
    name,
    ...(account === null ? {} : { account: account.slice(0, 300) }),
    in: place,
    key,
    ...(prefix === '' ? {} : { prefix }),
  };
}
