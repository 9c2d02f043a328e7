import { useInfiniteQuery } from '@tanstack/solid-query';
import { createEffect, createMemo } from 'solid-js';

import { isOpenApproval } from '#contracts/approval-status';
import { usePollEveryMs } from '../../../api/live.tsx';
import { useMe } from '../../session/session.tsx';
import { listedApprovalsQuery } from '../approvals.queries.ts';
import type { ListFilter } from './list-filter.ts';

/**
 * For one page the API searches a limited number of approvals, so a page may be empty although more
 * pages follow. This many empty pages are loaded before the person is asked whether to go on.
 */
const emptyPagesMax = 10;

/**
 * The loaded pages of the list. Open approvals that this person decides are loaded first and come
 * before all others.
 */
export function useApprovalList(filter: () => ListFilter) {
  const me = useMe();
  const pollEveryMs = usePollEveryMs();
  const first = useInfiniteQuery(() => ({
    ...listedApprovalsQuery(filter(), filter().isDecided ? undefined : 'me'),
    refetchInterval: pollEveryMs(),
  }));
  const others = useInfiniteQuery(() => ({
    ...listedApprovalsQuery(filter(), undefined),
    refetchInterval: pollEveryMs(),
    enabled: !filter().isDecided && first.isSuccess && !first.hasNextPage,
  }));
  const firstItems = createMemo(() =>
    (first.data?.pages.flatMap(({ items }) => items) ?? []).filter(
      (approval) => isOpenApproval(approval) !== filter().isDecided,
    ),
  );
  const otherItems = createMemo(() =>
    filter().isDecided || !others.isEnabled
      ? []
      : (others.data?.pages.flatMap(({ items }) => items) ?? []).filter(
          (approval) => isOpenApproval(approval) && approval.resolver_id !== me().id,
        ),
  );
  const pendingQuery = () => (filter().isDecided || first.hasNextPage ? first : others);
  const loadMore = () => {
    const query = pendingQuery();
    if (query.hasNextPage && !query.isFetching && !query.isError) void query.fetchNextPage();
  };
  const items = createMemo(() => [...firstItems(), ...otherItems()]);
  createEffect(() => {
    const pagesCount = pendingQuery().data?.pages.length ?? emptyPagesMax;
    if (items().length === 0 && pagesCount < emptyPagesMax) loadMore();
  });
  return {
    firstItems,
    otherItems,
    items,
    loadMore,
    hasMore: () => pendingQuery().hasNextPage,
    isLoading: () => first.isPending || (others.isEnabled && others.isPending),
    isLoadingMore: () => first.isFetchingNextPage || others.isFetchingNextPage,
    error: () => first.error ?? others.error,
    retry: () => void (first.isError ? first : others).refetch(),
  };
}

export type ApprovalListState = ReturnType<typeof useApprovalList>;
