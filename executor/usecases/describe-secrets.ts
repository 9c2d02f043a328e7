import type { Deps } from '../deps.ts';
import { parseReference, referenceOf } from '../domain/secret-rules.ts';
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
  const wanted = names.map((asked) => ({ asked, ...parseReference(asked) }));
  const found = await listSecretsByName(db, {
    orgId,
    userId,
    names: wanted.map(({ name }) => name),
  });
  const secrets = wanted.flatMap(({ asked, name, orgOnly }) => {
    const candidates = found.filter((secret) => secret.name === name);
    const own = orgOnly ? undefined : candidates.find(({ tier }) => tier === 'user');
    const secret = own ?? candidates.find(({ tier }) => tier === 'org');
    if (secret === undefined) return [];
    const { id, allowedHosts, currentVersion } = secret;
    return [{ asked, reference: referenceOf(secret), id, allowedHosts, version: currentVersion }];
  });
  return { secrets };
}
