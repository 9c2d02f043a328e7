import { queryOptions } from '@tanstack/solid-query';

import type { ChangeProfileBody, Profile } from '#contracts/http/profile';
import type { PublicSession } from '#contracts/http/sign-in';
import { request } from '../../api/client.ts';
import type { Page } from '../../api/pages.ts';

export const profileQuery = () =>
  queryOptions({
    queryKey: ['profile'] as const,
    queryFn: ({ signal }) => request<Profile>('/v1/profile', { signal }),
  });

export function changeProfile(body: ChangeProfileBody): Promise<Profile> {
  return request<Profile>('/v1/profile', { method: 'PATCH', body });
}

export const sessionsQuery = () =>
  queryOptions({
    queryKey: ['sessions'] as const,
    queryFn: ({ signal }) => request<Page<PublicSession>>('/v1/sessions?limit=50', { signal }),
  });

export function endSession({ id }: { id: string }): Promise<void> {
  return request<void>(`/v1/sessions/${encodeURIComponent(id)}`, { method: 'DELETE' });
}

export function endOtherSessions(): Promise<void> {
  return request<void>('/v1/sessions', { method: 'DELETE' });
}
