import type { RequestStatus, ServiceRequest } from '#contracts/http/requests';
import type { IdentityReference, Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';

export interface PersonRequest {
  readonly id: string;
  readonly orgId: string;
  readonly kind: ServiceRequest['kind'];
  /** An open request counts as expired when its time is over, even before the sweep closes it. */
  readonly status: RequestStatus;
  readonly requester: IdentityReference;
  /** The requester's user. */
  readonly userId: string;
  /** The requester and its ancestors, the user first. */
  readonly chainIds: string[];
  /**
   * The requester, the other identities that asked for the same, and the ancestors of all of them.
   */
  readonly audience: string[];
  /**
   * The other identities that asked for the same: one for each agent with its subagents. Subagents
   * of the requester's agent are not among them.
   */
  readonly alsoAskedBy: IdentityReference[];
  /**
   * The chain of each identity in `alsoAskedBy`, the user first. Rows of an earlier release have
   * none.
   */
  readonly askerChains: string[][];
  readonly tier: Tier;
  readonly template: { readonly key: string; readonly title: string } | null;
  readonly name: string;
  readonly actions: string[];
  readonly scopes: string[];
  readonly hosts: string[];
  readonly reason: string | null;
  /** The account that a request of kind `connection` is about. */
  readonly connectionId: string | null;
  readonly serviceId: string | null;
  /** The name under which the person connected the service. */
  readonly serviceName: string | null;
  readonly createdAt: Date;
  readonly expiresAt: Date;
  readonly decidedBy: IdentityReference | null;
  readonly declineReason: string | null;
}

export interface Row {
  id: string;
  org_id: string;
  kind: PersonRequest['kind'];
  status: RequestStatus;
  requester: IdentityReference;
  user_id: string;
  chain_ids: string[];
  audience: string[];
  also_asked_by: IdentityReference[];
  asker_chains: string[][];
  tier: Tier;
  template_key: string | null;
  template_title: string | null;
  name: string;
  actions: string[];
  scopes: string[];
  hosts: string[];
  reason: string | null;
  connection_id: string | null;
  service_id: string | null;
  service_name: string | null;
  created_at: Date;
  expires_at: Date;
  decided_by: IdentityReference | null;
  decline_reason: string | null;
}

/** The status of a row at the moment of the statement. */
export const statusNow = (sql: Sql) =>
  sql`case when status = 'open' and expires_at <= now() then 'expired' else status end`;

export const requestColumns = (sql: Sql) => sql`
  id, org_id, kind, ${statusNow(sql)} as status, requester, user_id, chain_ids, audience, also_asked_by,
  asker_chains, tier, template_key, template_title, name, actions, scopes, hosts, reason, connection_id,
  service_id, service_name,
  created_at, expires_at, decided_by, decline_reason
`;

export function toRequest(row: Row): PersonRequest {
  const { template_key: key, template_title: title } = row;
  return {
    id: row.id,
    orgId: row.org_id,
    kind: row.kind,
    status: row.status,
    requester: row.requester,
    userId: row.user_id,
    chainIds: row.chain_ids,
    audience: row.audience,
    alsoAskedBy: row.also_asked_by,
    askerChains: row.asker_chains,
    tier: row.tier,
    template: key === null ? null : { key, title: title ?? key },
    name: row.name,
    actions: row.actions,
    scopes: row.scopes,
    hosts: row.hosts,
    reason: row.reason,
    connectionId: row.connection_id,
    serviceId: row.service_id,
    serviceName: row.service_name,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    decidedBy: row.decided_by,
    declineReason: row.decline_reason,
  };
}
