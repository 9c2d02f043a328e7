import { A, useNavigate, useParams, useSearchParams } from '@solidjs/router';
import { useQuery, useQueryClient } from '@tanstack/solid-query';
import { Match, Show, Switch, createEffect } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { isApiError } from '../../api/client.ts';
import { usePollEveryMs } from '../../api/live.tsx';
import { Icon, Spinner } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { ApprovalCard } from './approval-card.tsx';
import { isOpen, isUnderWay } from './approval-view.ts';
import { approvalKeys, approvalQuery } from './approvals.queries.ts';
import type { ApprovalList } from './approvals.queries.ts';

/** A replay ends within seconds: asked for too, should its event be lost. */
const followEveryMs = 3_000;

/** One approval at its own address, as links in notifications have it. */
export function ApprovalPage() {
  const params = useParams<{ id: string }>();
  const [search] = useSearchParams<{ show?: string }>();
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const pollEveryMs = usePollEveryMs();
  const approval = useQuery(() => ({
    ...approvalQuery(params.id),
    // What the list knows already is on the card at once; only a stored result is missing there.
    placeholderData: () =>
      queryClient
        .getQueryData<ApprovalList>(approvalKeys.open)
        ?.items.find(({ id }) => id === params.id),
    refetchInterval: ({ state }: { state: { data?: ApprovalResponse | undefined } }) =>
      state.data !== undefined && isUnderWay(state.data) ? followEveryMs : pollEveryMs(),
  }));
  const shown = () => (approval.data?.id === params.id ? approval.data : undefined);

  // What was decided before it was opened stands in the list of those; what is decided here stays.
  const wasOpen = new Set<string>();
  createEffect(() => {
    const data = shown();
    if (data === undefined) return;
    if (isOpen(data)) wasOpen.add(data.id);
    else if (search.show === undefined && !wasOpen.has(data.id)) {
      navigate(`/approvals/${data.id}?show=decided`, { replace: true, scroll: false });
    }
  });

  return (
    <div class="mx-auto max-w-3xl px-3 pb-3 sm:px-6 sm:pt-3 lg:px-8 lg:py-6">
      <A
        href={search.show === 'decided' ? '/approvals?show=decided' : '/approvals'}
        class="inline-flex min-h-11 items-center gap-1 rounded-lg pr-3 font-medium text-ink-soft hover:text-ink lg:hidden"
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
        <Match when={shown()}>
          <Show when={params.id} keyed>
            <Show when={shown()}>
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
