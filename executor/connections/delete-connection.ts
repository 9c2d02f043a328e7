import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import { createConnectionEvent } from './connection-event.ts';
import { cancelRequestsForConnection } from './finish-requests.ts';
import { getWritableConnection, noSuchConnectionError } from './present-connection.ts';
import { revokeAtProvider } from '../providers/revoke-at-provider.ts';
import { readTokensIfAny } from './sealed-tokens.ts';
import type { Deps } from '../deps.ts';
import { referenceOf } from '../credentials/domain/credential-rules.ts';
import { revokeConnection } from './connection.sql.ts';
import { lockTokens } from './connection-tokens.sql.ts';

/**
 * Erases the stored tokens for good, then asks the provider to revoke them. The connection is
 * revoked even when the provider cannot be reached.
 */
export async function deleteConnection(
  deps: Deps,
  { principal: signed, id, context }: { principal: string; id: string; context: CallContext },
): Promise<Record<string, never>> {
  const { db, vault, apps, logger } = deps;
  const principal = deps.readPrincipal(signed);
  const { orgId } = principal;
  const { provider, actsAs } = await getWritableConnection(db, principal, id);
  const app = await apps.find({ orgId, provider, actsAs });
  const erased = await db.transaction(async (tx) => {
    const storedTokens = await lockTokens(tx, { orgId, id });
    const revoked = storedTokens && (await revokeConnection(tx, { orgId, id }));
    if (storedTokens === undefined || revoked === undefined) throw noSuchConnectionError();
    const text = `Revoked connection ${referenceOf(revoked)}`;
    const by = { principal, context };
    await appendEvent(
      tx,
      createConnectionEvent('connection.revoked', { connection: revoked, text, by }),
    );
    await cancelRequestsForConnection(tx, { orgId, connectionId: id, by });
    if (storedTokens.sealed === null || app?.provider.token_url !== storedTokens.tokenUrl)
      return null;
    return readTokensIfAny(tx, vault, {
      orgId,
      id,
      version: storedTokens.version,
      sealed: storedTokens.sealed,
    });
  });
  if (erased !== null && app !== undefined) {
    await revokeAtProvider(deps, app, erased).catch((error: unknown) =>
      logger.warn({ err: error, connectionId: id, provider }, 'not revoked at the provider'),
    );
  }
  return {};
}
