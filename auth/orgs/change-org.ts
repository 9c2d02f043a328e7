import type { ChangeOrgBody, Org as PublicOrg } from '#contracts/http/users';
import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import { readAdmin } from '../callers/read-admin.ts';
import type { Deps } from '../deps.ts';
import { callerNameOf } from '../callers/domain/audit-entry.ts';
import { presentOrg } from './domain/present-org.ts';
import { createChangeEvent } from '../callers/domain/change-event.ts';
import { getOrgProfile, updateOrgSettings } from './orgs.sql.ts';

/**
 * Changes the given settings. The event informs the other components, so that the change takes
 * effect at once.
 */
export async function changeOrg(
  { db, readPrincipal, credentials }: Deps,
  { principal, body, context }: { principal: string; body: ChangeOrgBody; context: CallContext },
): Promise<PublicOrg> {
  const caller = readAdmin({ readPrincipal }, principal);
  const { orgId } = caller;
  const { oauth_client_allow_list: clients, ...plain } = body;
  // An empty list would refuse every client, and is probably a mistake. So it is stored as null,
  // which means no list.
  const list = clients === undefined ? {} : { oauth_client_allow_list: emptyToNull(clients) };
  const changedOrg = await db.transaction(async (tx) => {
    const changedFields = Object.entries({ ...plain, ...list }).filter(
      ([, value]) => value !== undefined,
    );
    await updateOrgSettings(tx, { orgId, changes: Object.fromEntries(changedFields) });
    const changedSettings = changedFields.map(([setting]) => setting);
    const description = `${callerNameOf(caller)} changed ${changedSettings.join(', ')} of the org.`;
    const orgChange = { audience: [], data: { changed: changedSettings }, description };
    await appendEvent(tx, createChangeEvent('org.changed', { caller, context }, orgChange));
    return presentOrg(await getOrgProfile(tx, { orgId }));
  });
  // The idle time after which a session ends may have changed.
  credentials.drop();
  return changedOrg;
}

function emptyToNull(list: string[] | null): string[] | null {
  return list === null || list.length === 0 ? null : list;
}
