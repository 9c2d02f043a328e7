import type { Deadline } from '#bus';
import type { SecretDetail } from '#contracts/http/secrets';
import { cursorOf } from '#database';
import type { Deps } from '../deps.ts';
import { listSecrets as listStoredSecrets } from '../repository/secret.ts';
import { withUses } from '../secrets/used-by.ts';

/** What the caller's user can use: its own and the org's; an auditor reads of all of them. */
export async function listSecrets(
  deps: Pick<Deps, 'db' | 'readPrincipal' | 'findSecretUses'>,
  {
    principal: signed,
    page,
  }: { principal: string; page: { limit: number; cursor: string | null } },
  deadline: Deadline,
): Promise<{ items: SecretDetail[]; next_cursor: string | null }> {
  const principal = deps.readPrincipal(signed);
  const { orgId, userId, role } = principal;
  const found = await listStoredSecrets(deps.db, {
    orgId,
    userId: role === 'auditor' ? null : userId,
    limit: page.limit + 1,
    cursor: page.cursor,
  });
  const secrets = found.slice(0, page.limit);
  const items = await withUses(deps, { principal, secrets }, deadline);
  const last = items.at(-1);
  return { items, next_cursor: found.length > page.limit && last ? cursorOf([last.id]) : null };
}
