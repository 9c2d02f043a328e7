import { infiniteQueryOptions } from '@tanstack/solid-query';
import type { z } from 'zod';

import type { Identity } from '#contracts/http/identities';
import type { ChangeUserBody, Invitation, SignInLink, createUserBody } from '#contracts/http/users';
import { request } from '../../api/client.ts';
import type { Page } from '../../api/pages.ts';

export const membersKey = ['members'] as const;

/** The people of the org; only admins and auditors may see them. */
export const membersQuery = () =>
  infiniteQueryOptions({
    queryKey: membersKey,
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam === null ? '' : `&cursor=${encodeURIComponent(pageParam)}`;
      return request<Page<Identity>>(`/v1/users?limit=100${cursor}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last: Page<Identity>) => last.next_cursor,
  });

export function inviteMember(body: z.infer<typeof createUserBody>) {
  return request<Invitation>('/v1/users/invitations', { method: 'POST', body });
}

export function changeMember({ id, body }: { id: string; body: ChangeUserBody }) {
  return request<Identity>(`/v1/users/${encodeURIComponent(id)}`, { method: 'PATCH', body });
}

export function createSignInLink({ id }: { id: string }) {
  return request<SignInLink>(`/v1/users/${encodeURIComponent(id)}/sign-in-links`, {
    method: 'POST',
  });
}
