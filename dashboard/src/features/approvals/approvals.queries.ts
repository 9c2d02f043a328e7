import { infiniteQueryOptions, queryOptions } from '@tanstack/solid-query';

import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import { request } from '../../api/client.ts';
import type { Page } from '../../api/pages.ts';
import { toApiQuery } from './list/list-filter.ts';
import type { ListFilter } from './list/list-filter.ts';

export type ApprovalList = Page<ApprovalResponse>;

/**
 * All cache keys of this feature begin with the same key, so that one call can invalidate them all.
 */
export const approvalKeys = {
  all: ['approvals'] as const,
  open: ['approvals', 'list', 'open'] as const,
  listed: ['approvals', 'list', 'by filter'] as const,
  one: (id: string) => ['approvals', 'one', id] as const,
};

export const openApprovalsQuery = () =>
  queryOptions({
    queryKey: approvalKeys.open,
    queryFn: ({ signal }) =>
      request<ApprovalList>('/v1/approvals?status=open&limit=200', { signal }),
  });

/** The approvals that the list shows, page by page. */
export const listedApprovalsQuery = (filter: ListFilter, assigned: 'me' | undefined) =>
  infiniteQueryOptions({
    queryKey: [...approvalKeys.listed, assigned ?? 'anybody', filter] as const,
    queryFn: ({ pageParam, signal }) =>
      request<ApprovalList>(`/v1/approvals${toApiQuery(filter, { assigned, cursor: pageParam })}`, {
        signal,
      }),
    initialPageParam: null as string | null,
    getNextPageParam: (last: ApprovalList) => last.next_cursor,
  });

export const approvalQuery = (id: string) =>
  queryOptions({
    queryKey: approvalKeys.one(id),
    queryFn: ({ signal }) =>
      request<ApprovalResponse>(`/v1/approvals/${encodeURIComponent(id)}`, { signal }),
  });

export function resolveApproval(variables: { id: string; body: ResolveApprovalBody }) {
  return postToApproval(variables.id, 'resolve', variables.body);
}

/** Runs an allowed call that has not been run yet. Resolves when the call has ended. */
export function callApproval({ id }: { id: string }) {
  return postToApproval(id, 'call');
}

/** Stops an allowed call that has not been run yet. */
export function cancelApproval({ id }: { id: string }) {
  return postToApproval(id, 'cancel');
}

function postToApproval(
  id: string,
  verb: 'resolve' | 'call' | 'cancel',
  body?: ResolveApprovalBody,
) {
  return request<ApprovalResponse>(`/v1/approvals/${encodeURIComponent(id)}/${verb}`, {
    method: 'POST',
    body,
  });
}
