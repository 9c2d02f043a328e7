import type { ShownCredential } from '#contracts/http/approvals';
import type { Deps } from '../deps.ts';
import { findConnection } from '../repository/connection.ts';
import type { CallFacts } from './facts.ts';

/** Where each credential of a call will be put, and on which account it acts. */
export async function showCredentials(
  { db }: Pick<Deps, 'db'>,
  { orgId, injections }: Pick<CallFacts, 'orgId' | 'injections'>,
): Promise<ShownCredential[]> {
  return Promise.all(
    injections.map(async ({ kind, credentialId, credentialName, in: place, key, prefix }) => {
      const connection =
        kind === 'connection' ? await findConnection(db, { orgId, id: credentialId }) : undefined;
      const account = connection?.accountLabel ?? null;
      return {
        kind,
        name: credentialName,
        ...(account === null ? {} : { account: account.slice(0, 300) }),
        in: place,
        key,
        ...(prefix === '' ? {} : { prefix }),
      };
    }),
  );
}
