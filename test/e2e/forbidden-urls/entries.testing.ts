import { createAccountEntries } from './accounts.testing.ts';
import { createCallEntries } from './calls.testing.ts';
import { createClientEntries } from './clients.testing.ts';
import { createDocumentEntries } from './documents.testing.ts';
import { createServerEntries } from './servers.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

/**
 * Every entry point: a feature through which a caller can make the product call a URL. Add an entry
 * for each new feature of this kind.
 */
export async function createEntries(stage: Stage, urls: readonly string[]): Promise<Entry[]> {
  return [
    ...(await createCallEntries(stage)),
    ...createDocumentEntries(stage),
    ...createClientEntries(stage),
    ...(await createAccountEntries(stage, urls)),
    ...(await createServerEntries(stage)),
  ];
}
