import { infiniteQueryOptions, queryOptions } from '@tanstack/solid-query';

import type { AuditRecord } from '#contracts/audit';
import type { AuditLookup, AuditVerification } from '#contracts/http/audit';
import { request } from '../../api/client.ts';
import type { Page } from '../../api/pages.ts';
import { serverNowMs } from '../../api/server-clock.ts';
import { toActivitySearch, toAuditQuery } from './activity-filter.ts';
import type { ActivityFilter } from './activity-filter.ts';

type AuditPage = Page<AuditRecord> & Pick<AuditLookup, 'people'>;

/** The records that match a filter, newest first, 100 on a page. */
export const activityQuery = (filter: ActivityFilter) =>
  infiniteQueryOptions({
    queryKey: ['audit', 'list', toActivitySearch(filter)],
    queryFn: ({ pageParam, signal }) => {
      const query = toAuditQuery(filter, { cursor: pageParam, nowMs: serverNowMs() });
      return request<AuditPage>(`/v1/audit${query}`, { signal });
    },
    initialPageParam: null as string | null,
    getNextPageParam: (last: AuditPage) => last.next_cursor,
  });

/** All records of the same approval or call as this record, in the order of the log. */
export const recordsOfCallQuery = ({ id, approval_id }: AuditRecord) =>
  queryOptions({
    queryKey: ['audit', 'call', approval_id ?? id],
    queryFn: async ({ signal }): Promise<readonly AuditRecord[]> => {
      if (approval_id === null) {
        return (await request<AuditLookup>(`/v1/audit/${id}`, { signal })).rows;
      }
      // An approval can have several calls: those that led to it and those that resulted from it.
      const path = `/v1/audit?approval_id=${approval_id}&limit=100` as const;
      return (await request<AuditPage>(path, { signal })).items.toReversed();
    },
  });

/** The latest records. Several of them may belong to the same call. */
export const latestRecordsQuery = () =>
  queryOptions({
    queryKey: ['audit', 'latest'],
    queryFn: ({ signal }) => request<Page<AuditRecord>>('/v1/audit?limit=60', { signal }),
  });

/** The gateway reads the whole chain for this check, so the page requests it only once. */
export const chainQuery = () =>
  queryOptions({
    queryKey: ['audit', 'chain'],
    queryFn: ({ signal }) => request<AuditVerification>('/v1/audit/verify', { signal }),
    staleTime: 'static',
    retry: false,
  });
