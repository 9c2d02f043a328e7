import { infiniteQueryOptions, queryOptions } from '@tanstack/solid-query';

import type { OauthClient } from '#contracts/http/oauth-clients';
import type { ChangeOrgBody, Org } from '#contracts/http/users';
import { request } from '../../api/client.ts';
import type { Page } from '../../api/pages.ts';

export const orgQuery = () =>
  queryOptions({
    queryKey: ['org'],
    queryFn: ({ signal }) => request<Org>('/v1/org', { signal }),
  });

export function changeOrg(body: ChangeOrgBody) {
  return request<Org>('/v1/org', { method: 'PATCH', body });
}

/** The OAuth clients that people of the org have authorized. */
export const oauthClientsQuery = () =>
  infiniteQueryOptions({
    queryKey: ['oauth-clients'],
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam === null ? '' : `&cursor=${encodeURIComponent(pageParam)}`;
      return request<Page<OauthClient>>(`/v1/oauth/clients?limit=50${cursor}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last: Page<OauthClient>) => last.next_cursor,
  });

export function revokeOauthClient({ id }: { id: string }) {
  return request<OauthClient>(`/v1/oauth/clients/${encodeURIComponent(id)}/revoke`, {
    method: 'POST',
  });
}
