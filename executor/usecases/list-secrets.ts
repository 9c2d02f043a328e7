import type { Secret } from '#contracts/http/secrets';
import { cursorOf } from '#database';
import type { Deps } from '../deps.ts';
import { listSecrets as listStoredSecrets } from '../repository/secret.ts';
import { presentSecret } from '../secrets/present.ts';

/** What the caller's user can use: its own and the org's; an auditor reads of all of them. */
export async function listSecrets(
  { db, verifyPrincipal }: Pick<Deps, 'db' | 'verifyPrincipal'>,
  {
    principal: signed,
    page,
  }: { principal: string; page: { limit: number; cursor: string | null } },
): Promise<{ items: Secret[]; next_cursor: string | null }> {
  const { orgId, userId, role } = verifyPrincipal(signed);
  const found = await listStoredSecrets(db, {
    orgId,
    userId: role === 'auditor' ? null : userId,
    limit: page.limit + 1,
    cursor: page.cursor,
  });
  const items = found.slice(0, page.limit).map(presentSecret);
  const last = items.at(-1);
  return { items, next_cursor: found.length > page.limit && last ? cursorOf([last.id]) : null };
}
