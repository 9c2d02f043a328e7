import type { Deadline } from '#bus';
import { secretUsesMax } from '#contracts/http/secrets';
import type { SecretDetail } from '#contracts/http/secrets';
import type { Principal } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { referenceOf } from '../domain/credential-rules.ts';
import type { StoredSecret } from '../repository/secret.ts';
import { listOwnersOfNames } from '../repository/secret.ts';
import { presentSecret } from './present.ts';

/**
 * Secrets with the services that use them, as far as the caller may see those. A bare name in a
 * service means its owner's own secret, or the org's for an owner who has none of that name.
 */
export async function withUses(
  { db, findSecretUses }: Pick<Deps, 'db' | 'findSecretUses'>,
  { principal, secrets }: { principal: Principal; secrets: readonly StoredSecret[] },
  deadline: Deadline,
): Promise<SecretDetail[]> {
  if (secrets.length === 0) return [];
  const { orgId, userId, role } = principal;
  const seesAll = role === 'admin' || role === 'auditor';
  const names = [...new Set(secrets.map(({ name }) => name))];
  const references = [...new Set([...secrets.map(referenceOf), ...names])];
  const { services } = await findSecretUses(
    { orgId, userId: seesAll ? null : userId, references },
    deadline,
  );
  const owners = services.flatMap(({ owner_id }) => owner_id ?? []);
  const own = await listOwnersOfNames(db, { orgId, names, ownerIds: [...new Set(owners)] });
  const hasOwn = (ownerId: string | null, name: string) =>
    own.some((each) => each.ownerId === ownerId && each.name === name);
  const isMeant = ({ tier, name, ownerId }: StoredSecret, service: (typeof services)[number]) => {
    const isByName = service.references.includes(name);
    if (tier === 'user') return isByName && service.owner_id === ownerId;
    return (
      service.references.includes(`org/${name}`) || (isByName && !hasOwn(service.owner_id, name))
    );
  };
  return secrets.map((secret) => ({
    ...presentSecret(secret),
    used_by: services
      .filter((service) => isMeant(secret, service))
      .slice(0, secretUsesMax)
      .map(({ references: _, ...use }) => use),
  }));
}
