import { accountEntries } from './accounts.testing.ts';
import { callEntries } from './calls.testing.ts';
import { clientEntries } from './clients.testing.ts';
import { documentEntries } from './documents.testing.ts';
import { serverEntries } from './servers.testing.ts';
import type { Entry, Stage } from './stage.testing.ts';

/** What `test/e2e/forbidden-urls` goes through; a new way to have a URL called belongs here. */
export async function entriesOf(stage: Stage, urls: readonly string[]): Promise<Entry[]> {
  return [
    ...(await callEntries(stage)),
    ...documentEntries(stage),
    ...clientEntries(stage),
    ...(await accountEntries(stage, urls)),
    ...(await serverEntries(stage)),
  ];
}
