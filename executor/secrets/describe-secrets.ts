import type { Deps } from '../deps.ts';
import {
  findReferenced,
  parseReference,
  referenceOf,
} from '../credentials/domain/credential-rules.ts';
import { listSecretsByName } from './secret.sql.ts';

interface SecretDescription {
  asked: string;
  reference: string;
  id: string;
  allowedHosts: string[];
  version: number;
  refusedAt: string | null;
}

/**
 * Returns which of these names are secrets of a user, and their hosts. A bare name means the user's
 * own secret if there is one, and otherwise the org's.
 */
export async function describeSecrets(
  { db }: Pick<Deps, 'db'>,
  { orgId, userId, names }: { orgId: string; userId: string; names: string[] },
): Promise<{ secrets: SecretDescription[] }> {
  const storedSecrets = await listSecretsByName(db, {
    orgId,
    userId,
    names: names.map((asked) => parseReference(asked).name),
  });
  const secrets = names.flatMap((name) => {
    const secret = findReferenced(storedSecrets, name);
    if (secret === undefined) return [];
    const { id, allowedHosts, currentVersion: version } = secret;
    const refusedAt = secret.refusedAt?.toISOString() ?? null;
    return [{ asked: name, reference: referenceOf(secret), id, allowedHosts, version, refusedAt }];
  });
  return { secrets };
}
