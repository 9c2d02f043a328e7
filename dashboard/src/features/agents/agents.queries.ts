import { infiniteQueryOptions, queryOptions } from '@tanstack/solid-query';

import type { AuditRecord } from '#contracts/audit';
import type {
  CreatedAgentKey,
  Identity,
  PublicAgentKey,
  UpdateIdentityBody,
} from '#contracts/http/identities';
import type { McpConnection } from '#contracts/http/oauth-clients';
import type { Rule } from '#contracts/http/rules';
import { isApiError, request } from '../../api/client.ts';
import type { Page } from '../../api/pages.ts';
import type { ApprovalList } from '../../features/approvals/approvals.queries.ts';

/** All cache keys of this feature begin with the same key. */
export const agentKeys = {
  all: ['agents'] as const,
  list: ['agents', 'list'] as const,
  chain: (id: string) => ['agents', 'chain', id] as const,
  permissions: (ids: readonly string[]) => ['agents', 'permissions', ...ids] as const,
  keys: (id: string) => ['agents', 'keys', id] as const,
  clients: (id: string) => ['agents', 'clients', id] as const,
  calls: (id: string) => ['agents', 'calls', id] as const,
  approvals: (id: string) => ['agents', 'approvals', id] as const,
};

/**
 * No public event reports that an agent was paused or a key was used, so pages that show this poll.
 */
export const askAgainMs = 20_000;

const identityPath = (id: string) => `/v1/identities/${encodeURIComponent(id)}` as const;

/** The identities that the person may see. A parent always comes before its children. */
export const identitiesQuery = () =>
  infiniteQueryOptions({
    queryKey: agentKeys.list,
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam === null ? '' : `&cursor=${encodeURIComponent(pageParam)}`;
      return request<Page<Identity>>(`/v1/identities?limit=200${cursor}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last: Page<Identity>) => last.next_cursor,
  });

const levelsMax = 9;

/** The agent with this id and the identities above it, from the agent up to its user. */
export const chainQuery = (id: string) =>
  queryOptions({
    queryKey: agentKeys.chain(id),
    queryFn: async ({ signal }) => {
      const chain: Identity[] = [];
      let nextId: string | null = id;
      while (nextId !== null && chain.length < levelsMax) {
        // oxlint-disable-next-line no-await-in-loop -- each identity contains the id of its parent
        const identity: Identity = await request<Identity>(identityPath(nextId), { signal });
        chain.push(identity);
        nextId = identity.parent_id;
      }
      return chain;
    },
  });

export interface ReachingRules {
  readonly rules: readonly Rule[];
  /**
   * The names of those who made the rules, by id. Names that the person may not see are missing.
   */
  readonly makers: Readonly<Record<string, string>>;
}

const rulePagesMax = 3; // There are at most 500 rules on one identity or on the org.
const makersMax = 20;

/** The rules of these identities and of the org, newest first. */
export const rulesQuery = (chain: readonly Identity[]) =>
  queryOptions({
    queryKey: agentKeys.permissions(chain.map(({ id }) => id)),
    queryFn: async ({ signal }): Promise<ReachingRules> => {
      const filters = [...chain.map(({ id }) => `identity_id=${id}`), 'scope=org'];
      const lists = await Promise.all(filters.map((filter) => listRules(filter, signal)));
      const rules = lists.flat();
      const known = Object.fromEntries(chain.map(({ id, name }) => [id, name]));
      return { rules, makers: { ...known, ...(await findMakers(rules, known, signal)) } };
    },
  });

async function listRules(filter: string, signal: AbortSignal): Promise<Rule[]> {
  const rules: Rule[] = [];
  let cursor: string | null = null;
  for (let count = 0; count < rulePagesMax; count += 1) {
    const after = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    // oxlint-disable-next-line no-await-in-loop -- each page contains the cursor of the next
    const page: Page<Rule> = await request<Page<Rule>>(`/v1/rules?${filter}&limit=200${after}`, {
      signal,
    });
    rules.push(...page.items);
    cursor = page.next_cursor;
    if (cursor === null) break;
  }
  return rules;
}

async function findMakers(
  rules: readonly Rule[],
  known: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Record<string, string>> {
  const ids = [...new Set(rules.map((rule) => rule.created_by))].filter((id) => !(id in known));
  const entries = await Promise.all(
    ids.slice(0, makersMax).map(async (id) => {
      try {
        return [[id, (await request<Identity>(identityPath(id), { signal })).name]];
      } catch (error) {
        if (isApiError(error, 'not_found')) return []; // Only admins may see this maker.
        throw error;
      }
    }),
  );
  return Object.fromEntries(entries.flat()) as Record<string, string>;
}

export const keysQuery = (id: string) =>
  queryOptions({
    queryKey: agentKeys.keys(id),
    queryFn: ({ signal }) =>
      request<Page<PublicAgentKey>>(`${identityPath(id)}/keys?limit=50`, { signal }),
  });

export const clientsQuery = (id: string) =>
  queryOptions({
    queryKey: agentKeys.clients(id),
    queryFn: ({ signal }) =>
      request<Page<McpConnection>>(`${identityPath(id)}/mcp-connections?limit=100`, { signal }),
  });

export const latestRecordsQuery = (id: string) =>
  queryOptions({
    queryKey: agentKeys.calls(id),
    queryFn: ({ signal }) =>
      request<Page<AuditRecord>>(`/v1/audit?identity_id=${encodeURIComponent(id)}&limit=60`, {
        signal,
      }),
  });

export const approvalsOfAgentQuery = (id: string) =>
  queryOptions({
    queryKey: agentKeys.approvals(id),
    queryFn: ({ signal }) =>
      request<ApprovalList>(`/v1/approvals?requester=${encodeURIComponent(id)}&limit=8`, {
        signal,
      }),
  });

export function createAgent(body: { name: string; auto_call_on_approve: boolean }) {
  return request<Identity>('/v1/identities/agents', { method: 'POST', body });
}

export function updateIdentity({ id, body }: { id: string; body: UpdateIdentityBody }) {
  return request<Identity>(identityPath(id), { method: 'PATCH', body });
}

export function changeStanding({ id, verb }: { id: string; verb: 'archive' | 'restore' }) {
  return request<Identity>(`${identityPath(id)}/${verb}`, { method: 'POST' });
}

export function revokeIdentity({ id }: { id: string }) {
  return request<Identity>(`${identityPath(id)}/revoke`, { method: 'POST' });
}

export function createKey({ id, ...body }: { id: string; name: string; expires_at?: string }) {
  return request<CreatedAgentKey>(`${identityPath(id)}/keys`, { method: 'POST', body });
}

export function revokeKey({ id, keyId }: { id: string; keyId: string }) {
  return request<void>(`${identityPath(id)}/keys/${encodeURIComponent(keyId)}`, {
    method: 'DELETE',
  });
}

export function deleteRule({ id }: { id: string }) {
  return request<void>(`/v1/rules/${encodeURIComponent(id)}`, { method: 'DELETE' });
}

interface ClientOfAgent {
  readonly id: string;
  readonly clientId: string;
}

const clientPath = ({ id, clientId }: ClientOfAgent) =>
  `${identityPath(id)}/mcp-connections/${encodeURIComponent(clientId)}` as const;

export function switchSelfApproval({ isOn, ...client }: ClientOfAgent & { isOn: boolean }) {
  const body = { self_approve_enabled: isOn };
  return request<McpConnection>(clientPath(client), { method: 'PATCH', body });
}

export function partClient(client: ClientOfAgent) {
  return request<void>(clientPath(client), { method: 'DELETE' });
}
