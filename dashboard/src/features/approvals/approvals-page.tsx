import { useNavigate, useParams, useSearchParams } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { Show, createEffect, createMemo, untrack } from 'solid-js';
import type { JSX } from 'solid-js';
import { Dynamic } from 'solid-js/web';

import { Button } from '../../ui/button.tsx';
import { useKeys } from '../../ui/keys.ts';
import { useIsWide } from '../../ui/media.ts';
import { TabLinks } from '../../ui/tab-links.tsx';
import { useTitle } from '../../ui/title.ts';
import { useMe } from '../session/session.tsx';
import { ApprovalList } from './approval-list.tsx';
import { findAdjacentId } from './approval-view.ts';
import { openApprovalsQuery } from './approvals.queries.ts';
import { SelectionBar } from './batch/selection-bar.tsx';
import { useSelection } from './batch/use-selection.ts';
import { FilterBar } from './list/filter-bar.tsx';
import { isFiltered, readFilter, toSearch } from './list/list-filter.ts';
import type { ListFilter } from './list/list-filter.ts';
import { useApprovalList } from './list/use-approval-list.ts';

/** Shows the list and the card side by side if both fit, otherwise only one of them. */
export function ApprovalsPage(props: { children?: JSX.Element }) {
  const params = useParams<{ id?: string }>();
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const isWide = useIsWide();
  const filter = createMemo(() => readFilter(search), undefined, { equals: isSameFilter });
  const addressOf = (id: string) => `/approvals/${id}${toSearch(filter())}`;
  const list = useApprovalList(filter);
  const me = useMe();
  const selection = useSelection();
  const canSelect = () => !filter().isDecided && me().role !== 'auditor';
  // The navigation keeps this list up to date. The filters offer the agents and services in it.
  const openApprovals = useQuery(() => openApprovalsQuery());
  const openCount = () => {
    const { data } = openApprovals;
    return data === undefined ? '' : `${data.items.length}${data.next_cursor === null ? '' : '+'}`;
  };
  const ids = createMemo(() => list.items().map(({ id }) => id));
  const changeFilter = (changed: ListFilter) => {
    const path = params.id === undefined ? '/approvals' : `/approvals/${params.id}`;
    navigate(`${path}${toSearch(changed)}`, { replace: true, scroll: false });
  };

  const moveSelection = (step: 1 | -1) => () => {
    const id = findAdjacentId(ids(), params.id, step);
    if (id === undefined) list.loadMore();
    else navigate(addressOf(id), { scroll: !isWide() });
  };
  useKeys(() => ({ j: moveSelection(1), k: moveSelection(-1) }));
  useTitle(() =>
    openApprovals.data !== undefined && openApprovals.data.items.length > 0 && !filter().isDecided
      ? `(${openCount()}) Approvals`
      : 'Approvals',
  );

  // The first approval is opened automatically once. Afterwards the card changes only when the
  // person chooses another approval.
  createEffect(() => {
    const [first] = ids();
    if (!isWide() || filter().isDecided || params.id !== undefined || first === undefined) return;
    navigate(
      untrack(() => addressOf(first)),
      { replace: true },
    );
  });

  return (
    <main id="content" class="mx-auto max-w-7xl lg:grid lg:grid-cols-[22rem_minmax(0,1fr)] lg:px-6">
      <section
        class="px-3 py-4 sm:px-6 lg:sticky lg:top-14 lg:h-[calc(100dvh-3.5rem)] lg:overflow-y-auto lg:border-r lg:border-line lg:py-6 lg:pr-4 lg:pl-1"
        classList={{ 'max-lg:hidden': params.id !== undefined }}
        aria-labelledby="queue-title"
        data-scroller
      >
        <Dynamic
          component={params.id === undefined ? 'h1' : 'h2'}
          id="queue-title"
          class="px-1 text-xl font-semibold"
        >
          Approvals
        </Dynamic>
        <TabLinks
          label="Which approvals"
          tabs={[
            {
              href: '/approvals',
              text: openCount() === '' ? 'Open' : `Open (${openCount()})`,
              isCurrent: !filter().isDecided,
            },
            { href: '/approvals?show=decided', text: 'Decided', isCurrent: filter().isDecided },
          ]}
        />
        <FilterBar
          filter={filter()}
          known={[...(openApprovals.data?.items ?? []), ...list.items()]}
          onChange={changeFilter}
          act={
            <Show when={canSelect() && !selection.isSelecting() && list.items().length > 1}>
              <Button look="quiet" class="px-1! text-sm" onClick={() => selection.start()}>
                Select several
              </Button>
            </Show>
          }
        />
        <Show when={canSelect() && selection.isSelecting()}>
          <SelectionBar selection={selection} items={list.items()} />
        </Show>
        <ApprovalList
          list={list}
          isDecided={filter().isDecided}
          isFiltered={isFiltered(filter())}
          onClearFilter={() =>
            changeFilter(readFilter({ show: filter().isDecided ? 'decided' : '' }))
          }
          selection={selection}
          chosenId={params.id}
          href={addressOf}
        />
      </section>
      <div class="min-w-0" classList={{ 'max-lg:hidden': params.id === undefined }}>
        {props.children}
      </div>
    </main>
  );
}

function isSameFilter(one: ListFilter, other: ListFilter): boolean {
  return toSearch(one) === toSearch(other);
}

/** Shown in place of the card until an approval is chosen. */
export function NoApprovalChosen() {
  const [search] = useSearchParams<{ show?: string }>();
  return (
    <p class="px-6 pt-[20vh] text-center text-ink-soft max-lg:hidden">
      {search.show === 'decided'
        ? 'Choose an approval to see what was asked, who decided and what came of it.'
        : 'What an agent asks for appears here.'}
    </p>
  );
}
