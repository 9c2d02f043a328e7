import type { ChangeOrgBody, Org as PublicOrg } from '#contracts/http/users';
import type { CallContext, Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import { appendEvent } from '#events';
import type { Deps } from '../deps.ts';
import { seesWholeOrg } from '../domain/access.ts';
import { nameOf } from '../domain/audit-entry.ts';
import { accountChanged } from '../domain/sign-in-events.ts';
import { findOrgProfile, updateOrgSettings } from '../repository/orgs.ts';
import type { OrgProfile } from '../repository/orgs.ts';

export async function getOrg(
  { db, readPrincipal }: Deps,
  { principal }: { principal: string },
): Promise<PublicOrg> {
  const { orgId } = readReader({ readPrincipal }, principal);
  return present(await findOrgProfile(db, { orgId }));
}

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
    return present(await findOrgProfile(tx, { orgId }));
  });
}

/** Admins change what belongs to the org; auditors look at it. */
export function readReader({ readPrincipal }: Pick<Deps, 'readPrincipal'>, signed: string) {
  const caller: Principal = readPrincipal(signed);
  if (seesWholeOrg(caller)) return caller;
  throw new AppError('forbidden', 'Only admins and auditors of the org may see this.');
}

export function readAdmin({ readPrincipal }: Pick<Deps, 'readPrincipal'>, signed: string) {
  const caller: Principal = readPrincipal(signed);
  if (caller.role === 'admin') return caller;
  throw new AppError('forbidden', 'Only an admin of the org may do this; ask one.');
}

function emptyToNull(list: string[] | null): string[] | null {
  return list === null || list.length === 0 ? null : list;
}

function present(org: OrgProfile | undefined): PublicOrg {
  if (org === undefined) throw new AppError('not_found', 'There is no such org.');
  return {
    id: org.id,
    name: org.name,
    created_at: org.createdAt.toISOString(),
    approval_ttl_seconds: org.approvalTtlSeconds,
    auto_bubble_seconds: org.autoBubbleSeconds,
    remember_ttl_seconds: org.rememberTtlSeconds,
    self_remember_max_seconds: org.selfRememberMaxSeconds,
    durable_read_audit: org.durableReadAudit,
    oauth_client_allow_list:
      org.oauthClientAllowList === null ? null : [...org.oauthClientAllowList],
  };
}
