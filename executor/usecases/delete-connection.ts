import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import { connectionEvent } from '../connections/event.ts';
import { getWritableConnection, noConnection } from '../connections/present.ts';
import { revokeAtProvider } from '../connections/revoke-at-provider.ts';
import { readTokensIfAny } from '../connections/tokens.ts';
import type { Deps } from '../deps.ts';
import { referenceOf } from '../domain/credential-rules.ts';
import { revokeConnection } from '../repository/connection.ts';
import { lockTokens } from '../repository/connection-tokens.ts';

/**
 * Erases the tokens here, for good, and then asks the provider to end them too. That it cannot be
 * reached keeps nobody from revoking.
 */
export async function deleteConnection(
  deps: Deps,
  { principal: signed, id, context }: { principal: string; id: string; context: CallContext },
): Promise<Record<string, never>> {
  const { db, vault, apps, logger } = deps;
  const principal = deps.readPrincipal(signed);
  const { orgId } = principal;
  const { provider } = await getWritableConnection(db, principal, id);
  const app = await apps.find({ orgId, provider });
  const erased = await db.transaction(async (tx) => {
    const held = await lockTokens(tx, { orgId, id });
    const revoked = held && (await revokeConnection(tx, { orgId, id }));
    if (held === undefined || revoked === undefined) throw noConnection();
    const text = `Revoked connection ${referenceOf(revoked)}`;
    const by = { principal, context };
    await appendEvent(tx, connectionEvent('connection.revoked', { connection: revoked, text, by }));
    if (held.sealed === null || app?.provider.token_url !== held.tokenUrl) return null;
    return readTokensIfAny(tx, vault, { orgId, id, version: held.version, sealed: held.sealed });
  });
  if (erased !== null && app !== undefined) {
    await revokeAtProvider(deps, app, erased).catch((thrown: unknown) =>
      logger.warn({ err: thrown, connectionId: id, provider }, 'not revoked at the provider'),
    );
  }
  return {};
}
