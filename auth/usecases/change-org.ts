import type { ChangeOrgBody, Org as PublicOrg } from '#contracts/http/users';
import type { CallContext } from '#contracts/vocabulary';
import { appendEvent } from '#events';
import { readAdmin } from '../callers.ts';
import type { Deps } from '../deps.ts';
import { nameOf } from '../domain/audit-entry.ts';
import { presentOrg } from '../domain/present-org.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import { getOrgProfile, updateOrgSettings } from '../repository/orgs.ts';

/** Changes the settings that are given. Others hear of it with the event, so it holds at once. */
export async function changeOrg(
  { db, readPrincipal }: Deps,
  { principal, body, context }: { principal: string; body: ChangeOrgBody; context: CallContext },
): Promise<PublicOrg> {
  const caller = readAdmin({ readPrincipal }, principal);
  const { orgId } = caller;
  const { oauth_client_allow_list: clients, ...plain } = body;
  // An empty list would shut everybody out by mistake; it means what null does.
  const list = clients === undefined ? {} : { oauth_client_allow_list: emptyToNull(clients) };
  return db.transaction(async (tx) => {
    const given = Object.entries({ ...plain, ...list }).filter(([, value]) => value !== undefined);
    await updateOrgSettings(tx, { orgId, changes: Object.fromEntries(given) });
    const changed = given.map(([setting]) => setting);
    const description = `${nameOf(caller)} changed ${changed.join(', ')} of the org.`;
    const change = { audience: [], data: { changed }, description };
    await appendEvent(tx, accountChanged('org.changed', { caller, context }, change));
    return presentOrg(await getOrgProfile(tx, { orgId }));
  });
}

function emptyToNull(list: string[] | null): string[] | null {
  return list === null || list.length === 0 ? null : list;
}
