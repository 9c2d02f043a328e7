import { secretUsingServicesMax } from '#contracts/bus/registry';
import type { SecretUse } from '#contracts/http/secrets';
import type { Deps } from '../deps.ts';
import { nameInKeys } from './domain/service.ts';
import { listServicesBySecret } from './connected-service.sql.ts';

/**
 * Finds the services that use any of these secrets, each with the references that it uses. Without
 * the secrets they would stop working.
 */
export async function findSecretUses(
  { db }: Pick<Deps, 'db'>,
  query: { orgId: string; userId: string | null; references: string[] },
): Promise<{ services: (SecretUse & { references: string[] })[] }> {
  const services = await listServicesBySecret(db, { ...query, limit: secretUsingServicesMax });
  const wantedReferences = new Set(query.references);
  return {
    services: services.map((service) => ({
      id: service.id,
      name: nameInKeys(service),
      tier: service.tier,
      owner_id: service.ownerId,
      references: [...new Set(Object.values(service.secrets))].filter((each) =>
        wantedReferences.has(each),
      ),
    })),
  };
}
