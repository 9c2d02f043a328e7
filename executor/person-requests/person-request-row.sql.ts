import type { RequestStatus, ServiceRequest } from '#contracts/http/requests';
import type { IdentityReference, Tier } from '#contracts/vocabulary';
import type { Sql } from '#database';

export interface PersonRequest {
  readonly id: string;
  readonly orgId: string;
  readonly kind: ServiceRequest['kind'];
  /** An open request whose time is over counts as expired, also before the sweep has closed it. */
  readonly status: RequestStatus;
  readonly requester: IdentityReference;
  /** The requester's user. */
  readonly userId: string;
  /** The requester and its ancestors, the user first. */
  readonly chainIds: string[];
  /** The requester, others that asked for the same, and the ancestors of all of them. */
  readonly audience: string[];
  /** One for each agent with its subagents; those of the requester's agent are not in it. */
  readonly alsoAskedBy: IdentityReference[];
  /** The chains of those in `alsoAskedBy`, the user first; an earlier release left them out. */
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
  /** The name that the person gave the service. */
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

/** The status of a row at this moment. */
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
