import type { ShownCredential } from '#contracts/audit';
import type { Injection } from '#contracts/permit';

/** Describes where a credential is injected and, if known, for which account it acts. */
export function toShownCredential(
  { kind, credentialName: name, in: location, key, prefix }: Injection,
  account: string | null = null,
): ShownCredential {
  return {
    kind,
    name,
    ...(account === null ? {} : { account: account.slice(0, 300) }),
    in: location,
    key,
    ...(prefix === '' ? {} : { prefix }),
  };
}
