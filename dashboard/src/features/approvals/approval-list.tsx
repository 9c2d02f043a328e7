import { A } from '@solidjs/router';
import { useQueryClient } from '@tanstack/solid-query';
import type { UseInfiniteQueryResult, UseQueryResult } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createUniqueId } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { Button } from '../../ui/button.tsx';
import { Spinner } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { Ago, Countdown } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { endedAt, isOpen, statusWord, tone } from './approval-view.ts';
import { approvalKeys } from './approvals.queries.ts';
import type { ApprovalList } from './approvals.queries.ts';
import { RiskBadge } from './risk-badge.tsx';

interface ListProps {
  readonly chosen: string | undefined;
  readonly href: (id: string) => string;
}

export function OpenList(
  props: ListProps & {
    query: UseQueryResult<ApprovalList>;
    queue: { mine: ApprovalResponse[]; others: ApprovalResponse[] };
  },
) {
  return (
    <Switch>
      <Match when={props.query.data}>
        {(list) => (
          <>
            <Show when={props.query.error}>{(error) => <ErrorNotice error={error()} />}</Show>
            <Show when={list().items.length === 0}>
              <p class="rounded-xl border border-dashed border-line-strong px-4 py-10 text-center text-ink-soft">
                Nothing is waiting for you.
              </p>
            </Show>
            <Rows
              title="Waiting for you"
              items={props.queue.mine}
              chosen={props.chosen}
              href={props.href}
            />
            <Rows
              title="With others first"
              items={props.queue.others}
              chosen={props.chosen}
              href={props.href}
            />
            <Show when={list().next_cursor}>
              <p class="px-1 py-3 text-sm text-ink-soft">
                There are more: these are the 200 newest.
              </p>
            </Show>
          </>
        )}
      </Match>
      <Match when={props.query.error}>
        {(error) => <ErrorNotice error={error()} onRetry={() => void props.query.refetch()} />}
      </Match>
      <Match when={props.query.isPending}>
        <Loading />
      </Match>
    </Switch>
  );
}

export function DecidedList(
  props: ListProps & {
    query: UseInfiniteQueryResult<{ pages: ApprovalList[] }>;
    items: ApprovalResponse[];
  },
) {
  return (
    <>
      <Rows title="" items={props.items} chosen={props.chosen} href={props.href} />
      <Switch>
        <Match when={props.query.error}>
          {(error) => <ErrorNotice error={error()} onRetry={() => void props.query.refetch()} />}
        </Match>
        <Match when={props.query.isPending || props.query.isFetchingNextPage}>
          <Loading />
        </Match>
        <Match when={props.query.hasNextPage}>
          <Button class="mt-3 w-full" onClick={() => void props.query.fetchNextPage()}>
            Show earlier ones
          </Button>
        </Match>
        <Match when={props.items.length === 0}>
          <p class="rounded-xl border border-dashed border-line-strong px-4 py-10 text-center text-ink-soft">
            Nothing has been decided yet.
          </p>
        </Match>
      </Switch>
    </>
  );
}

const colours = {
  good: 'text-accent',
  bad: 'text-high',
  warning: 'text-medium',
} as const;

function Loading() {
  return (
    <p class="flex items-center gap-3 px-1 py-6 text-ink-soft" role="status">
      <Spinner /> Loading…
    </p>
  );
}

function Rows(props: ListProps & { title: string; items: ApprovalResponse[] }) {
  const titleId = createUniqueId();
  return (
    <Show when={props.items.length > 0}>
      <Show when={props.title !== ''}>
        <p id={titleId} class="mt-4 mb-2 px-1 text-sm font-semibold text-ink-soft first:mt-0">
          {props.title}
        </p>
      </Show>
      <ul
        class="grid grid-cols-[minmax(0,1fr)] gap-2"
        aria-labelledby={props.title === '' ? undefined : titleId}
      >
        <For each={props.items.map(({ id }) => id)}>
          {(id) => (
            <Show when={props.items.find((item) => item.id === id)}>
              {(item) => (
                <li>
                  <Row approval={item()} href={props.href(id)} isChosen={props.chosen === id} />
                </li>
              )}
            </Show>
          )}
        </For>
      </ul>
    </Show>
  );
}

function Row(props: { approval: ApprovalResponse; href: string; isChosen: boolean }) {
  const queryClient = useQueryClient();
  return (
    <A
      href={props.href}
      class="block rounded-xl border p-3"
      classList={{
        'border-accent bg-surface ring-1 ring-accent': props.isChosen,
        'border-line bg-surface hover:border-line-strong': !props.isChosen,
      }}
      aria-current={props.isChosen ? 'true' : false}
    >
      <span class="flex items-center justify-between gap-2 text-sm">
        <RiskBadge risk={props.approval.risk} short />
        <Show
          when={isOpen(props.approval)}
          fallback={
            <span class="text-ink-soft">
              <Ago at={endedAt(props.approval)} />
            </span>
          }
        >
          <Countdown
            until={props.approval.expires_at}
            onEnd={() => void queryClient.invalidateQueries({ queryKey: approvalKeys.all })}
          />
        </Show>
      </span>
      <span class="mt-2 line-clamp-2 leading-snug font-medium" dir="auto">
        <VisibleText text={props.approval.action_description} />
      </span>
      <span class="mt-1 flex justify-between gap-2 text-sm text-ink-soft">
        <span class="truncate">
          <VisibleText text={props.approval.requester.name} />
          {props.approval.service === 'http' ? ', direct HTTP' : ' on '}
          <Show when={props.approval.service !== 'http'}>
            <VisibleText text={props.approval.service} />
          </Show>
        </span>
        <Show when={!isOpen(props.approval)}>
          <span class={`font-semibold whitespace-nowrap ${colours[tone(props.approval)]}`}>
            {statusWord(props.approval)}
          </span>
        </Show>
      </span>
    </A>
  );
}
