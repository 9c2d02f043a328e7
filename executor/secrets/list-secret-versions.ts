import type { secretVersion } from '#contracts/http/secrets';
import type { z } from 'zod';
import { pageOf, parseSingleCursor, positions } from '#database';
import type { Page, PageRequest } from '#database';
import type { Deps } from '../deps.ts';
import { listSecretVersions as listStoredVersions } from '../vault/secret-version.sql.ts';
import { getVisibleSecret } from './get-visible-secret.ts';

type Version = z.infer<typeof secretVersion>;

export async function listSecretVersions(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  { principal: signed, id, page }: { principal: string; id: string; page: PageRequest },
): Promise<Page<Version>> {
  const principal = readPrincipal(signed);
  const secret = await getVisibleSecret(db, principal, id);
  const { orgId } = principal;
  const storedVersions = await listStoredVersions(db, {
    orgId,
    secretId: secret.id,
    limit: page.limit + 1,
    before: parseSingleCursor(page.cursor, positions.version),
  });
  const { items, next_cursor } = pageOf(storedVersions, page.limit, ({ version }) => [version]);
  return {
    items: items.map(({ version, createdAt, createdBy, current }) => ({
      version,
      created_at: createdAt.toISOString(),
      created_by: createdBy,
      current,
    })),
    next_cursor,
  };
}
