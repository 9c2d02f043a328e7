import type { Deadline } from '#bus';
import { secretUsesMax } from '#contracts/http/secrets';
import type { SecretDetail } from '#contracts/http/secrets';
import type { Principal } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { referenceOf } from '../credentials/domain/credential-rules.ts';
import type { StoredSecret } from './secret.sql.ts';
import { listOwnersOfNames } from './secret.sql.ts';
import { presentSecret } from './present-secret.ts';

/**
 * Adds to each secret the services that use it, as far as the caller may see those services. A bare
 * name in a service means a secret of the service's owner if there is one, and otherwise the org's.
 */
export async function addSecretUses(
  { db, findSecretUses }: Pick<Deps, 'db' | 'findSecretUses'>,
  { principal, secrets }: { principal: Principal; secrets: readonly StoredSecret[] },
  deadline: Deadline,
): Promise<SecretDetail[]> {
  if (secrets.length === 0) return [];
  const { orgId, userId, role } = principal;
  const seesAll = role === 'admin' || role === 'auditor';
  const secretNames = [...new Set(secrets.map(({ name }) => name))];
  const references = [...new Set([...secrets.map(referenceOf), ...secretNames])];
  const { services } = await findSecretUses(
    { orgId, userId: seesAll ? null : userId, references },
    deadline,
  );
  const owners = services.flatMap(({ owner_id }) => owner_id ?? []);
  const ownersOfNames = await listOwnersOfNames(db, {
    orgId,
    names: secretNames,
    ownerIds: [...new Set(owners)],
  });
  const hasOwnSecret = (ownerId: string | null, name: string) =>
    ownersOfNames.some((each) => each.ownerId === ownerId && each.name === name);
  const isUsedBy = ({ tier, name, ownerId }: StoredSecret, service: (typeof services)[number]) => {
    const hasBareName = service.references.includes(name);
    if (tier === 'user') return hasBareName && service.owner_id === ownerId;
    return (
      service.references.includes(`org/${name}`) ||
      (hasBareName && !hasOwnSecret(service.owner_id, name))
    );
  };
  return secrets.map((secret) => ({
    ...presentSecret(secret),
    used_by: services
      .filter((service) => isUsedBy(secret, service))
      .slice(0, secretUsesMax)
      .map(({ references: _, ...use }) => use),
  }));
}
