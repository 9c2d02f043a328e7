import type { Deadline } from '#bus';
import { secretUsesMax } from '#contracts/http/secrets';
import type { SecretDetail } from '#contracts/http/secrets';
import type { Principal } from '#contracts/vocabulary';
import type { Deps } from '../deps.ts';
import { referenceOf } from '../domain/credential-rules.ts';
import type { StoredSecret } from '../repository/secret.ts';
import { presentSecret } from './present.ts';

/** Secrets with the services that use them, as far as the caller may see those. */
export async function withUses(
  { findSecretUses }: Pick<Deps, 'findSecretUses'>,
  { principal, secrets }: { principal: Principal; secrets: readonly StoredSecret[] },
  deadline: Deadline,
): Promise<SecretDetail[]> {
  if (secrets.length === 0) return [];
  const { orgId, userId, role } = principal;
  const seesAll = role === 'admin' || role === 'auditor';
  const references = [...new Set(secrets.map(referenceOf))];
  const { services } = await findSecretUses(
    { orgId, userId: seesAll ? null : userId, references },
    deadline,
  );
  return secrets.map((secret) => ({
    ...presentSecret(secret),
    used_by: services
      .filter(
        (service) =>
          service.references.includes(referenceOf(secret)) &&
          // A person's own secret is meant by that person's services alone.
          (secret.tier === 'org' || service.owner_id === secret.ownerId),
      )
      .slice(0, secretUsesMax)
      .map(({ references: _, ...use }) => use),
  }));
}
