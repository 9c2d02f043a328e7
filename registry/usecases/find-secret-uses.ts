import { secretUsingServicesMax } from '#contracts/bus/registry';
import type { SecretUse } from '#contracts/http/secrets';
import type { Deps } from '../deps.ts';
import { nameInKeys } from '../domain/service.ts';
import { listServicesBySecret } from '../repository/connected-service.ts';

/** Which services would stop working without these secrets, each with the references it has of them. */
export async function findSecretUses(
  { db }: Pick<Deps, 'db'>,
  asked: { orgId: string; userId: string | null; references: string[] },
): Promise<{ services: (SecretUse & { references: string[] })[] }> {
  const found = await listServicesBySecret(db, { ...asked, limit: secretUsingServicesMax });
  const wanted = new Set(asked.references);
  return {
    services: found.map((service) => ({
      id: service.id,
      name: nameInKeys(service),
      tier: service.tier,
      owner_id: service.ownerId,
      references: [...new Set(Object.values(service.secrets))].filter((each) => wanted.has(each)),
    })),
  };
}
