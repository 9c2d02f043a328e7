import type { Connection } from '#contracts/http/connections';
import type { Deps } from '../deps.ts';
import { parseReference, referenceOf } from '../domain/secret-rules.ts';
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
  const wanted = names.map((asked) => ({ asked, ...parseReference(asked) }));
  const found = await listConnectionsByName(db, {
    orgId,
    userId,
    names: wanted.map(({ name }) => name),
  });
  const connections = wanted.flatMap(({ asked, name, orgOnly }) => {
    const candidates = found.filter((connection) => connection.name === name);
    const own = orgOnly ? undefined : candidates.find(({ tier }) => tier === 'user');
    const connection = own ?? candidates.find(({ tier }) => tier === 'org');
    if (connection === undefined) return [];
    const { id, provider, status, allowedHosts, grantedScopes } = connection;
    const reference = referenceOf(connection);
    const authUrl = authUrlOf(id);
    return [{ asked, reference, id, provider, status, allowedHosts, grantedScopes, authUrl }];
  });
  return { connections };
}
