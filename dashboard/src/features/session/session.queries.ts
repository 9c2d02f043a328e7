import { queryOptions } from '@tanstack/solid-query';

import type { Me } from '#contracts/http/identities';
import { request } from '../../api/client.ts';
import { sessionKey } from '../../api/query-client.ts';

export const sessionQuery = () =>
  queryOptions({
    queryKey: sessionKey,
    queryFn: ({ signal }) => request<Me>('/v1/identities/me', { signal }),
    staleTime: 60_000,
  });

export function signOut(): Promise<void> {
  return request<void>('/v1/sign-out', { method: 'POST' });
}
