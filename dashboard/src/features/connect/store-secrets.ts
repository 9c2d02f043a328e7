import type { Tier } from '#contracts/vocabulary';
import { storeSecret } from './connect.queries.ts';
import { findFreeName } from './connect-view.ts';
import type { NeededSecret } from './connect-view.ts';
import type { SecretChoice } from './secret-choice.tsx';

interface StoreOptions {
  readonly choiceOf: (needed: NeededSecret) => SecretChoice;
  readonly tier: Tier;
  readonly hostsOf: (needed: NeededSecret) => readonly string[];
  /** The names of the secrets that exist. */
  readonly takenNames: () => readonly string[];
  /** The form has to know a stored secret before the next one is stored. */
  readonly onStored: (needed: NeededSecret, name: string) => Promise<void>;
}

/** Stores the secrets that the person entered, and returns the name of each by its scheme. */
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
    // Storing a secret under a name that exists would replace the one that others use.
    const allTakenNames = [...takenNames(), ...Object.values(names)];
    // oxlint-disable-next-line no-await-in-loop -- the name of the next depends on this one
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
