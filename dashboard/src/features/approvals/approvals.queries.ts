import { infiniteQueryOptions, queryOptions } from '@tanstack/solid-query';

import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import { request } from '../../api/client.ts';

export interface ApprovalList {
  readonly items: ApprovalResponse[];
  readonly next_cursor: string | null;
}

/** Every cache key of this feature starts here, so that one call can invalidate them all. */
export const approvalKeys = {
  all: ['approvals'] as const,
  open: ['approvals', 'list', 'open'] as const,
  latest: ['approvals', 'list', 'latest'] as const,
  one: (id: string) => ['approvals', 'one', id] as const,
};

export const openApprovalsQuery = () =>
  queryOptions({
    queryKey: approvalKeys.open,
    queryFn: ({ signal }) =>
      request<ApprovalList>('/v1/approvals?status=open&limit=200', { signal }),
  });

/** All of them, newest first: the decided ones have no filter of their own. */
export const latestApprovalsQuery = () =>
  infiniteQueryOptions({
    queryKey: approvalKeys.latest,
    queryFn: ({ pageParam, signal }) => {
      const cursor = pageParam === null ? '' : `&cursor=${encodeURIComponent(pageParam)}`;
      return request<ApprovalList>(`/v1/approvals?limit=100${cursor}`, { signal });
    },
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
  return act(variables.id, 'resolve', variables.body);
}

/** Runs an allowed call that has not run; answers when it has. */
export function callApproval({ id }: { id: string }) {
  return act(id, 'call');
}

/** Stops an allowed call that has not run. */
export function cancelApproval({ id }: { id: string }) {
  return act(id, 'cancel');
}

function act(id: string, verb: 'resolve' | 'call' | 'cancel', body?: ResolveApprovalBody) {
  return request<ApprovalResponse>(`/v1/approvals/${encodeURIComponent(id)}/${verb}`, {
    method: 'POST',
    body,
  });
}
