import type { Connection } from '#contracts/http/connections';
import type { Deps } from '../deps.ts';
import { findReferenced, parseReference, referenceOf } from '../domain/credential-rules.ts';
import { listConnectionsByName } from '../repository/connection.ts';

interface Description {
  asked: string;
  reference: string;
  id: string;
  provider: string;
  status: Connection['status'];
  allowedHosts: string[];
  grantedScopes: string[];
  authUrl: string;
}

/** Which of these connections exist for a user, and in which state. A name means the user's own, else the org's. */
export async function describeConnections(
  { db, authUrlOf }: Pick<Deps, 'db' | 'authUrlOf'>,
  { orgId, userId, names }: { orgId: string; userId: string; names: string[] },
): Promise<{ connections: Description[] }> {
  const found = await listConnectionsByName(db, {
    orgId,
    userId,
    names: names.map((asked) => parseReference(asked).name),
  });
  const connections = names.flatMap((asked) => {
    const connection = findReferenced(found, asked);
    if (connection === undefined) return [];
    const { id, provider, status, allowedHosts, grantedScopes } = connection;
    const reference = referenceOf(connection);
    const authUrl = authUrlOf(id);
    return [{ asked, reference, id, provider, status, allowedHosts, grantedScopes, authUrl }];
  });
  return { connections };
}
