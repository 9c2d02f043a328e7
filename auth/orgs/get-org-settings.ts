import type { OrgSettings } from '#contracts/bus/auth';
import { AppError } from '#errors';
import type { Deps } from '../deps.ts';
import { findOrgSettings } from './orgs.sql.ts';

export async function getOrgSettings(
  { db }: Deps,
  { orgId }: { orgId: string },
): Promise<OrgSettings> {
  const settings = await findOrgSettings(db, { orgId });
  if (settings === undefined) throw new AppError('not_found', 'There is no such org.');
  return settings;
}
