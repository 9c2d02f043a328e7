import { useNavigate, useParams, useSearchParams } from '@solidjs/router';
import { useInfiniteQuery, useQuery } from '@tanstack/solid-query';
import { Show, createEffect, createMemo } from 'solid-js';
import type { JSX } from 'solid-js';
import { Dynamic } from 'solid-js/web';

import { usePollEveryMs } from '../../api/live.tsx';
import { useKeys } from '../../ui/keys.ts';
import { useIsWide } from '../../ui/media.ts';
import { useTitle } from '../../ui/title.ts';
import { useMe } from '../session/session.tsx';
import { decidedFirst, inQueueOrder, neighbour } from './approval-view.ts';
import { DecidedList, OpenList } from './approval-list.tsx';
import { latestApprovalsQuery, openApprovalsQuery } from './approvals.queries.ts';
import { ListTabs } from './list-tabs.tsx';

/** The queue beside the card where there is room for both; else one or the other. */
export function ApprovalsPage(props: { children?: JSX.Element }) {
  const me = useMe();
  const params = useParams<{ id?: string }>();
  const [search] = useSearchParams<{ show?: string }>();
  const navigate = useNavigate();
  const isWide = useIsWide();
  const pollEveryMs = usePollEveryMs();
  const showsDecided = () => search.show === 'decided';
  const addressOf = (id: string) => `/approvals/${id}${showsDecided() ? '?show=decided' : ''}`;

  const open = useQuery(() => ({ ...openApprovalsQuery(), refetchInterval: pollEveryMs() }));
  const latest = useInfiniteQuery(() => ({ ...latestApprovalsQuery(), enabled: showsDecided() }));
  const queue = createMemo(() => inQueueOrder(open.data?.items ?? [], me().id));
  const decided = createMemo(() =>
    decidedFirst(latest.data?.pages.flatMap((page) => page.items) ?? []),
  );
  const ids = createMemo(() =>
    (showsDecided() ? decided() : [...queue().mine, ...queue().others]).map(({ id }) => id),
  );

  const move = (step: 1 | -1) => () => {
    const id = neighbour(ids(), params.id, step);
    if (id !== undefined) navigate(addressOf(id));
  };
  useKeys(() => ({ j: move(1), k: move(-1) }));
  useTitle(() =>
    ids().length > 0 && !showsDecided() ? `(${ids().length}) Approvals` : 'Approvals',
  );

  // The first one opens by itself, once: what is on the card never changes under the hand.
  createEffect(() => {
    const [first] = ids();
    if (!isWide() || showsDecided() || params.id !== undefined || first === undefined) return;
    navigate(addressOf(first), { replace: true });
  });
  // Nothing decided on this page yet: the next one may have some.
  createEffect(() => {
    if (!showsDecided() || decided().length > 0 || !latest.hasNextPage) return;
    if (!latest.isFetching && !latest.isError) void latest.fetchNextPage();
  });

  return (
    <main id="content" class="mx-auto max-w-7xl lg:grid lg:grid-cols-[22rem_minmax(0,1fr)] lg:px-6">
      <section
        class="px-3 py-4 sm:px-6 lg:sticky lg:top-14 lg:h-[calc(100dvh-3.5rem)] lg:overflow-y-auto lg:border-r lg:border-line lg:py-6 lg:pr-4 lg:pl-1"
        classList={{ 'max-lg:hidden': params.id !== undefined }}
        aria-labelledby="queue-title"
      >
        <Dynamic
          component={params.id === undefined ? 'h1' : 'h2'}
          id="queue-title"
          class="px-1 text-xl font-semibold"
        >
          Approvals
        </Dynamic>
        <ListTabs showsDecided={showsDecided()} openCount={open.data?.items.length} />
        <Show
          when={showsDecided()}
          fallback={<OpenList query={open} queue={queue()} chosen={params.id} href={addressOf} />}
        >
          <DecidedList query={latest} items={decided()} chosen={params.id} href={addressOf} />
        </Show>
      </section>
      <div class="min-w-0" classList={{ 'max-lg:hidden': params.id === undefined }}>
        {props.children}
      </div>
    </main>
  );
}

/** Beside the list, before one of it is chosen. */
export function NoneChosen() {
  const [search] = useSearchParams<{ show?: string }>();
  return (
    <p class="px-6 pt-[20vh] text-center text-ink-soft max-lg:hidden">
      {search.show === 'decided'
        ? 'Choose an approval to see what was asked, who decided and what came of it.'
        : 'What an agent asks for appears here.'}
    </p>
  );
}
