import { A, useNavigate, useParams, useSearchParams } from '@solidjs/router';
import { useQuery, useQueryClient } from '@tanstack/solid-query';
import { Match, Show, Switch, createEffect } from 'solid-js';

import { isOpenApproval } from '#contracts/approval-status';
import type { ApprovalResponse } from '#contracts/http/approvals';
import { isApiError } from '../../api/client.ts';
import { usePollEveryMs } from '../../api/live.tsx';
import { Icon, Spinner } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { ApprovalCard } from './approval-card.tsx';
import { isUnderWay } from './approval-view.ts';
import { approvalKeys, approvalQuery } from './approvals.queries.ts';
import type { ApprovalList } from './approvals.queries.ts';
import { readFilter, toSearch } from './list/list-filter.ts';

/**
 * How often to poll during a replay. A replay ends within seconds, and the event that reports its
 * end may be lost.
 */
const pollReplayEveryMs = 3_000;

/** The page of one approval. Notifications link to its address. */
export function ApprovalPage() {
  const params = useParams<{ id: string }>();
  const [search] = useSearchParams();
  const filter = () => readFilter(search);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const pollEveryMs = usePollEveryMs();
  const approval = useQuery(() => ({
    ...approvalQuery(params.id),
    // Data from the list fills the card immediately. Only a stored result is missing in it.
    placeholderData: () =>
      queryClient
        .getQueryData<ApprovalList>(approvalKeys.open)
        ?.items.find(({ id }) => id === params.id),
    refetchInterval: ({ state }: { state: { data?: ApprovalResponse | undefined } }) =>
      state.data !== undefined && isUnderWay(state.data) ? pollReplayEveryMs : pollEveryMs(),
  }));
  const shownApproval = () => (approval.data?.id === params.id ? approval.data : undefined);

  // Opening an approval that is already decided switches to the list of decided approvals. Deciding
  // an approval on this page does not switch lists.
  const openedIds = new Set<string>();
  createEffect(() => {
    const data = shownApproval();
    if (data === undefined) return;
    if (isOpenApproval(data)) openedIds.add(data.id);
    else if (search['show'] === undefined && !openedIds.has(data.id)) {
      navigate(`/approvals/${data.id}?show=decided`, { replace: true, scroll: false });
    }
  });

  return (
    <div class="mx-auto max-w-3xl px-3 pb-3 sm:px-6 sm:pt-3 lg:px-8 lg:py-6">
      <A
        href={`/approvals${toSearch(filter())}`}
        class="inline-flex min-h-10 items-center gap-1 rounded-lg pr-3 font-medium text-ink-soft hover:text-ink lg:hidden"
      >
        <Icon name="back" /> Approvals
      </A>
      <Switch
        fallback={
          <p class="flex items-center gap-3 py-10 text-ink-soft" role="status">
            <Spinner /> Loading…
          </p>
        }
      >
        <Match when={shownApproval()}>
          <Show when={params.id} keyed>
            <Show when={shownApproval()}>
              {(data) => <ApprovalCard approval={data()} isStale={approval.isError} />}
            </Show>
          </Show>
        </Match>
        <Match when={isApiError(approval.error, 'not_found')}>
          <h1 class="pt-8 text-xl font-semibold">There is no such approval</h1>
          <p class="mt-2 text-ink-soft">
            The link may be cut off, or belong to another organisation than the one you are signed
            in to.
          </p>
        </Match>
        <Match when={isApiError(approval.error, 'not_in_your_chain')}>
          <NotYours />
        </Match>
        <Match when={approval.error}>
          {(error) => (
            <>
              <h1 class="py-4 text-xl font-semibold">This approval cannot be shown</h1>
              <ErrorNotice error={error()} onRetry={() => void approval.refetch()} />
            </>
          )}
        </Match>
      </Switch>
    </div>
  );
}

/** Tells a person who may not see the approval which people may. */
function NotYours() {
  const me = useMe();
  return (
    <>
      <h1 class="pt-8 text-xl font-semibold">This approval is not yours to see</h1>
      <p class="mt-2 text-ink-soft">
        Only the person whose agent asks, the agents above that agent, and the admins of{' '}
        <VisibleText text={me().org.name} /> may see and decide it. You are signed in as{' '}
        <VisibleText text={me().name} />.
      </p>
      <p class="mt-2 text-ink-soft">
        If the link was sent to you, tell its sender to ask one of them. If you have another
        sign-in, sign out and use that one.
      </p>
    </>
  );
}
