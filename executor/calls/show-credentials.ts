import type { ShownCredential } from '#contracts/audit';
import type { Deps } from '../deps.ts';
import { toShownCredential } from '../previews/domain/shown-credential.ts';
import { findConnection } from '../connections/connection.sql.ts';
import type { PermitOrGap } from '../request/permit.ts';

/** Describes where each credential of a call is injected, and for which account it acts. */
export async function showCredentials(
  { db }: Pick<Deps, 'db'>,
  { orgId, injections }: Pick<PermitOrGap, 'orgId' | 'injections'>,
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
