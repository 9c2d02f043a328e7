import type { Deadline } from '#bus';
import type { SecretDetail } from '#contracts/http/secrets';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { listSecrets as listStoredSecrets } from './secret.sql.ts';
import { addSecretUses } from './secret-uses.ts';

/**
 * Lists the secrets that the caller's user can use: the user's own and the org's. An auditor sees
 * all of them.
 */
export async function listSecrets(
  deps: Pick<Deps, 'db' | 'readPrincipal' | 'findSecretUses'>,
  { principal: signed, page }: { principal: string; page: PageRequest },
  deadline: Deadline,
): Promise<Page<SecretDetail>> {
  const principal = deps.readPrincipal(signed);
  const { orgId, userId, role } = principal;
  const storedSecrets = await listStoredSecrets(deps.db, {
    orgId,
    userId: role === 'auditor' ? null : userId,
    limit: page.limit + 1,
    before: parseSingleCursor(page.cursor, positions.id),
  });
  const { items: secrets, next_cursor } = pageOf(storedSecrets, page.limit, ({ id }) => [id]);
  return { items: await addSecretUses(deps, { principal, secrets }, deadline), next_cursor };
}
