import type { ShownCredential } from '#contracts/audit';
import type { Deps } from '../deps.ts';
import { toShownCredential } from '../domain/shown-credential.ts';
import { findConnection } from '../repository/connection.ts';
import type { CallFacts } from './facts.ts';

/** Where each credential of a call will be put, and on which account it acts. */
export async function showCredentials(
  { db }: Pick<Deps, 'db'>,
  { orgId, injections }: Pick<CallFacts, 'orgId' | 'injections'>,
): Promise<ShownCredential[]> {
  return Promise.all(
    injections.map(async (injection) => {
      const { kind, credentialId: id } = injection;
      const connection =
        kind === 'connection' ? await findConnection(db, { orgId, id }) : undefined;
      return toShownCredential(injection, connection?.accountLabel);
    }),
  );
}
