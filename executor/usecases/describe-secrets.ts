import type { Deps } from '../deps.ts';
import { findReferenced, parseReference, referenceOf } from '../domain/credential-rules.ts';
import { listSecretsByName } from '../repository/secret.ts';

interface Description {
  asked: string;
  reference: string;
  id: string;
  allowedHosts: string[];
  version: number;
}

/** Which of these secrets exist for a user, and where they may go. A name means the user's own, else the org's. */
export async function describeSecrets(
  { db }: Pick<Deps, 'db'>,
  { orgId, userId, names }: { orgId: string; userId: string; names: string[] },
): Promise<{ secrets: Description[] }> {
  const found = await listSecretsByName(db, {
    orgId,
    userId,
    names: names.map((asked) => parseReference(asked).name),
  });
  const secrets = names.flatMap((asked) => {
    const secret = findReferenced(found, asked);
    if (secret === undefined) return [];
    const { id, allowedHosts, currentVersion } = secret;
    return [{ asked, reference: referenceOf(secret), id, allowedHosts, version: currentVersion }];
  });
  return { secrets };
}
