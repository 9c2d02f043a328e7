import { A } from '@solidjs/router';
import { useQueryClient } from '@tanstack/solid-query';
import { Match, Show, Switch, createUniqueId } from 'solid-js';
import type { JSX } from 'solid-js';

import { isOpenApproval } from '#contracts/approval-status';
import type { ApprovalResponse } from '#contracts/http/approvals';
import { Button } from '../../ui/button.tsx';
import { Spinner } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { TimeAgo, Countdown } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { describeDecision, endTimeOf, statusWordOf, toneOf } from './approval-view.ts';
import { approvalKeys } from './approvals.queries.ts';
import type { Selection } from './batch/use-selection.ts';
import type { ApprovalListState } from './list/use-approval-list.ts';
import { WindowedRows } from './list/windowed-rows.tsx';
import { AskedBy } from './asked-by.tsx';
import { RiskBadge } from './risk-badge.tsx';

/** The list of open or decided approvals. If there are none, it says so instead. */
export function ApprovalList(props: {
  list: ApprovalListState;
  isDecided: boolean;
  /** Whether a filter or a search is set. */
  isFiltered: boolean;
  onClearFilter: () => void;
  selection: Selection;
  chosenId: string | undefined;
  href: (id: string) => string;
}) {
  const me = useMe();
  const renderRow = (approval: () => ApprovalResponse) => (
    <Show
      when={!props.isDecided && props.selection.isSelecting()}
      fallback={
        <A
          href={props.href(approval().id)}
          class={rowClass}
          classList={rowLook(props.chosenId === approval().id)}
          aria-current={props.chosenId === approval().id ? 'true' : false}
        >
          <RowContent approval={approval()} />
        </A>
      }
    >
      <SelectableRow approval={approval()} selection={props.selection} />
    </Show>
  );
  return (
    <>
      <Show when={props.list.error()}>
        {(error) => <ErrorNotice error={error()} onRetry={props.list.retry} />}
      </Show>
      <Rows
        title={props.isDecided ? '' : 'Waiting for you'}
        items={props.list.firstItems()}
        chosenId={props.chosenId}
        onNearEnd={props.list.loadMore}
        renderRow={renderRow}
      />
      <Rows
        title={me().role === 'auditor' ? 'Waiting for others' : 'Others decide first'}
        items={props.list.otherItems()}
        chosenId={props.chosenId}
        onNearEnd={props.list.loadMore}
        renderRow={renderRow}
      />
      <Switch>
        <Match when={props.list.error()}>{null}</Match>
        <Match when={props.list.isLoading() || props.list.isLoadingMore()}>
          <p class="flex items-center gap-3 px-1 py-6 text-ink-soft" role="status">
            <Spinner /> Loading…
          </p>
        </Match>
        <Match when={props.list.hasMore()}>
          <Show when={props.list.items().length === 0}>
            <p class="px-1 py-4 text-center text-ink-soft">
              No approval matches so far. There are more to look through.
            </p>
          </Show>
          <Button class="mt-1 w-full" onClick={() => props.list.loadMore()}>
            {props.list.items().length === 0 ? 'Look further' : 'Show more'}
          </Button>
        </Match>
        <Match when={props.list.items().length === 0}>
          <div class="rounded-xl border border-dashed border-line-strong px-4 py-10 text-center text-ink-soft">
            <Show
              when={props.isFiltered}
              fallback={
                props.isDecided
                  ? 'Nothing has been decided yet.'
                  : 'Nothing waits for you. When an agent needs you it appears here and in the tab’s title.'
              }
            >
              <p>No approval matches.</p>
              <Button class="mt-3" onClick={() => props.onClearFilter()}>
                Show all
              </Button>
            </Show>
          </div>
        </Match>
      </Switch>
    </>
  );
}

function Rows(props: {
  title: string;
  items: readonly ApprovalResponse[];
  chosenId: string | undefined;
  onNearEnd: () => void;
  renderRow: (approval: () => ApprovalResponse) => JSX.Element;
}) {
  const titleId = createUniqueId();
  return (
    <Show when={props.items.length > 0}>
      <Show when={props.title !== ''}>
        <p id={titleId} class="mt-4 mb-2 px-1 text-sm font-semibold text-ink-soft first:mt-0">
          {props.title}
        </p>
      </Show>
      <WindowedRows
        items={props.items}
        chosenId={props.chosenId}
        labelId={props.title === '' ? undefined : titleId}
        onNearEnd={props.onNearEnd}
      >
        {props.renderRow}
      </WindowedRows>
    </Show>
  );
}

/** All rows have the same height, because the windowed list needs that. */
const rowClass = 'flex h-33 flex-col overflow-hidden rounded-xl border p-3';

function rowLook(isChosen: boolean) {
  return {
    'border-accent bg-surface ring-1 ring-accent ring-inset': isChosen,
    'border-line bg-surface hover:border-line-strong': !isChosen,
  };
}

function SelectableRow(props: { approval: ApprovalResponse; selection: Selection }) {
  const isSelected = () => props.selection.has(props.approval.id);
  const canSelect = () => props.selection.canSelect(props.approval);
  return (
    <label
      class={`${rowClass} relative pl-10`}
      classList={{
        ...rowLook(isSelected()),
        'cursor-pointer': canSelect(),
        'cursor-not-allowed border-dashed': !canSelect(),
      }}
    >
      <input
        type="checkbox"
        class="absolute top-4 left-3 size-5 accent-accent"
        checked={isSelected()}
        disabled={!canSelect()}
        onChange={() => props.selection.toggle(props.approval)}
      />
      <RowContent approval={props.approval} />
    </label>
  );
}

const colours = {
  good: 'text-accent',
  bad: 'text-high',
  warning: 'text-medium',
} as const;

function RowContent(props: { approval: ApprovalResponse }) {
  const queryClient = useQueryClient();
  return (
    <>
      <span class="flex items-center justify-between gap-2 text-sm">
        <RiskBadge risk={props.approval.risk} isShort />
        <Show
          when={isOpenApproval(props.approval)}
          fallback={
            <span class="text-ink-soft">
              <TimeAgo at={endTimeOf(props.approval)} side="end" />
            </span>
          }
        >
          <Countdown
            endsAt={props.approval.expires_at}
            onEnd={() => void queryClient.invalidateQueries({ queryKey: approvalKeys.all })}
          />
        </Show>
      </span>
      <span
        class="mt-1.5 leading-snug font-medium"
        classList={{
          'line-clamp-2': isOpenApproval(props.approval),
          'line-clamp-1': !isOpenApproval(props.approval),
        }}
        dir="auto"
      >
        <VisibleText text={props.approval.action_description} />
      </span>
      <span class="mt-auto flex justify-between gap-2 text-sm text-ink-soft">
        <AskedBy approval={props.approval} />
        <Show when={!isOpenApproval(props.approval)}>
          <span class={`font-semibold whitespace-nowrap ${colours[toneOf(props.approval)]}`}>
            {statusWordOf(props.approval)}
          </span>
        </Show>
      </span>
      <Show when={!isOpenApproval(props.approval)}>
        <WhoAndWhy approval={props.approval} />
      </Show>
    </>
  );
}

/** Who decided, and the reason that this person gave. */
function WhoAndWhy(props: { approval: ApprovalResponse }) {
  const me = useMe();
  return (
    <span class="truncate text-sm text-ink-soft">
      <VisibleText text={describeDecision(props.approval, me().id)} />
      <Show when={props.approval.reason !== 'cancelled' ? props.approval.reason : null}>
        {(reason) => (
          <>
            : “<VisibleText text={reason()} />”
          </>
        )}
      </Show>
    </span>
  );
}
