import type { Deadline } from '#bus';
import type { SecretDetail } from '#contracts/http/secrets';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { listSecrets as listStoredSecrets } from '../repository/secret.ts';
import { withUses } from '../secrets/used-by.ts';

/** What the caller's user can use: its own and the org's; an auditor reads of all of them. */
export async function listSecrets(
  deps: Pick<Deps, 'db' | 'readPrincipal' | 'findSecretUses'>,
  { principal: signed, page }: { principal: string; page: PageRequest },
  deadline: Deadline,
): Promise<Page<SecretDetail>> {
  const principal = deps.readPrincipal(signed);
  const { orgId, userId, role } = principal;
  const found = await listStoredSecrets(deps.db, {
    orgId,
    userId: role === 'auditor' ? null : userId,
    limit: page.limit + 1,
    before: parseSingleCursor(page.cursor, positions.id),
  });
  const { items: secrets, next_cursor } = pageOf(found, page.limit, ({ id }) => [id]);
  return { items: await withUses(deps, { principal, secrets }, deadline), next_cursor };
}
