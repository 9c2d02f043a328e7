import type { Connection } from '#contracts/http/connections';
import type { Deps } from '../deps.ts';
import {
  findReferenced,
  parseReference,
  referenceOf,
} from '../credentials/domain/credential-rules.ts';
import { listOpaqueProviders } from '../providers/oauth-app.sql.ts';
import { listConnectionsByName } from './connection.sql.ts';
import type { StoredConnection } from './connection.sql.ts';

interface ConnectionDescription {
  asked: string;
  reference: string;
  id: string;
  provider: string;
  status: Connection['status'];
  allowedHosts: string[];
  grantedScopes: string[];
  hasOpaqueScopes?: true;
  actsAs: StoredConnection['actsAs'];
  pin: StoredConnection['pin'];
  authUrl: string;
  refusedAt: string | null;
}

/**
 * Says which of the named connections exist for a user, and their state. A bare name means the
 * user's own connection if there is one, and otherwise the org's.
 */
export async function describeConnections(
  { db, authUrlOf }: Pick<Deps, 'db' | 'authUrlOf'>,
  { orgId, userId, names }: { orgId: string; userId: string; names: string[] },
): Promise<{ connections: ConnectionDescription[] }> {
  const [storedConnections, opaqueProviders] = await Promise.all([
    listConnectionsByName(db, {
      orgId,
      userId,
      names: names.map((asked) => parseReference(asked).name),
    }),
    listOpaqueProviders(db, orgId),
  ]);
  const connections = names.flatMap((name) => {
    const connection = findReferenced(storedConnections, name);
    if (connection === undefined) return [];
    const { id, provider, status, allowedHosts, grantedScopes, actsAs, pin } = connection;
    const reference = referenceOf(connection);
    const authUrl = authUrlOf(id);
    const connectionFields = {
      id,
      provider,
      status,
      allowedHosts,
      grantedScopes,
      ...(opaqueProviders.has(provider) ? { hasOpaqueScopes: true as const } : {}),
      actsAs,
      pin,
      authUrl,
    };
    const refusedAt = connection.refusedAt?.toISOString() ?? null;
    return [{ asked: name, reference, ...connectionFields, refusedAt }];
  });
  return { connections };
}
