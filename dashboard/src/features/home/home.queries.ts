import { queryOptions } from '@tanstack/solid-query';

import type { AuditRecord } from '#contracts/audit';
import type { Usage } from '#contracts/http/audit';
import type { OauthApp } from '#contracts/http/oauth-apps';
import type { Profile } from '#contracts/http/profile';
import { request } from '../../api/client.ts';
import type { Page } from '../../api/pages.ts';
import type { InstallationStatus } from './home-view.ts';

/**
 * Records this visit. The answer contains the time of the previous visit, or null on the first one.
 * It is requested once, because it must not change while the page is open.
 */
export const visitQuery = () =>
  queryOptions({
    queryKey: ['profile', 'visit'],
    queryFn: ({ signal }) =>
      request<Profile>('/v1/profile/visit', {
        method: 'POST',
        signal,
      }),
    staleTime: 'static',
  });

export const usageSinceQuery = (since: string) =>
  queryOptions({
    queryKey: ['usage', 'outcome', since],
    queryFn: ({ signal }) =>
      request<Usage>(`/v1/usage?${new URLSearchParams({ from: since }).toString()}`, { signal }),
  });

export const deniedRecordsQuery = () =>
  queryOptions({
    queryKey: ['audit', 'denied'],
    queryFn: ({ signal }) =>
      request<Page<AuditRecord>>('/v1/audit?outcome=denied&limit=10', { signal }),
  });

export const oauthAppsQuery = () =>
  queryOptions({
    queryKey: ['oauth-apps'],
    queryFn: ({ signal }) => request<Page<OauthApp>>('/v1/oauth-apps?limit=200', { signal }),
  });

export const statusQuery = () =>
  queryOptions({
    queryKey: ['status'],
    queryFn: ({ signal }) => request<InstallationStatus>('/v1/status', { signal }),
  });
