import type { Usage, UsageQuery } from '#contracts/http/audit';
import type { Deps } from '../deps.ts';
import { readableRecordsOf } from '../records/domain/access.ts';
import { usageRangeOf } from './domain/usage-range.ts';
import { listUsage } from './usage.sql.ts';

/** Counts calls. Admins and auditors get those of the org, other users those of their own tree. */
export async function getUsage(
  { db, readPrincipal }: Deps,
  { principal, query }: { principal: string; query: UsageQuery },
): Promise<Usage> {
  const { orgId, ofUserId } = readableRecordsOf(readPrincipal(principal));
  const { bucket = 'day', by = 'outcome' } = query;
  const range = usageRangeOf({ ...query, bucket }, new Date());
  const { items, left_out } = await listUsage(db, { orgId, ofUserId, ...range, bucket, by });
  return {
    from: range.from.toISOString(),
    to: range.to.toISOString(),
    bucket,
    by,
    items,
    left_out,
  };
}
