import type { secretVersion } from '#contracts/http/secrets';
import { cursorOf } from '#database';
import type { z } from 'zod';
import type { Deps } from '../deps.ts';
import { listSecretVersions as listStoredVersions } from '../repository/secret-version.ts';
import { getVisibleSecret } from '../secrets/get-visible.ts';

type Version = z.infer<typeof secretVersion>;

export async function listSecretVersions(
  { db, readPrincipal }: Pick<Deps, 'db' | 'readPrincipal'>,
  {
    principal: signed,
    id,
    page,
  }: { principal: string; id: string; page: { limit: number; cursor: string | null } },
): Promise<{ items: Version[]; next_cursor: string | null }> {
  const principal = readPrincipal(signed);
  const secret = await getVisibleSecret(db, principal, id);
  const { orgId } = principal;
  const found = await listStoredVersions(db, {
    orgId,
    secretId: secret.id,
    limit: page.limit + 1,
    cursor: page.cursor,
  });
  const items = found.slice(0, page.limit).map(({ version, createdAt, createdBy, current }) => ({
    version,
    created_at: createdAt.toISOString(),
    created_by: createdBy,
    current,
  }));
  const last = items.at(-1);
  return {
    items,
    next_cursor: found.length > page.limit && last ? cursorOf([last.version]) : null,
  };
}
