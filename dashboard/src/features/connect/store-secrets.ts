import type { Tier } from '#contracts/vocabulary';
import { storeSecret } from './connect.queries.ts';
import { findFreeName } from './connect-view.ts';
import type { NeededSecret } from './connect-view.ts';
import type { SecretChoice } from './secret-choice.tsx';

interface StoreOptions {
  readonly choiceOf: (needed: NeededSecret) => SecretChoice;
  readonly tier: Tier;
  readonly hostsOf: (needed: NeededSecret) => readonly string[];
  /** The names of the existing secrets. */
  readonly takenNames: () => readonly string[];
  /**
   * Awaited after each stored secret, so that the form knows the secret before the next one is
   * stored.
   */
  readonly onStored: (needed: NeededSecret, name: string) => Promise<void>;
}

/**
 * Stores the secrets that the person entered. Returns the name of each secret, by security scheme.
 */
export async function storeNeededSecrets(
  neededSecrets: readonly NeededSecret[],
  { choiceOf, tier, hostsOf, takenNames, onStored }: StoreOptions,
): Promise<Record<string, string>> {
  const names: Record<string, string> = {};
  for (const needed of neededSecrets) {
    const choice = choiceOf(needed);
    if (choice.name !== null) {
      names[needed.scheme] = choice.name;
      continue;
    }
    // A secret must not get an existing name, because it would replace a secret that others use.
    const allTakenNames = [...takenNames(), ...Object.values(names)];
    // oxlint-disable-next-line no-await-in-loop -- the name of the next secret depends on this name
    const stored = await storeSecret({
      name: findFreeName(needed.default_secret_name, allTakenNames),
      value: choice.value,
      tier,
      allowed_hosts: [...hostsOf(needed)],
    });
    names[needed.scheme] = stored.name;
    // oxlint-disable-next-line no-await-in-loop -- see `onStored`
    await onStored(needed, stored.name);
  }
  return names;
}
