import { useNavigate, useSearchParams } from '@solidjs/router';
import { useInfiniteQuery, useQuery } from '@tanstack/solid-query';
import { Match, Show, Switch, createMemo, untrack } from 'solid-js';

import { usePollEveryMs } from '../../api/live.tsx';
import { Button } from '../../ui/button.tsx';
import { SearchField, Select, withChosen } from '../../ui/filter-fields.tsx';
import { Spinner } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { useTitle } from '../../ui/title.ts';
import { askAgainMs, identitiesQuery } from '../agents/agents.queries.ts';
import { servicesQuery } from '../connect/connect.queries.ts';
import { referenceOf } from '../connect/connect-view.ts';
import { Empty, Rows } from '../home/home-section.tsx';
import { KeyedList } from '../../ui/keyed-list.tsx';
import { useMe } from '../session/session.tsx';
import {
  daysChoices,
  outcomeChoices,
  readActivityFilter,
  riskChoices,
  toActivitySearch,
  typeChoices,
} from './activity-filter.ts';
import type { ActivityFilter } from './activity-filter.ts';
import { activityQuery } from './activity.queries.ts';
import { eventLinesOf } from './calls-view.ts';
import { ChainLine } from './chain-state.tsx';
import { EventRow } from './event-row.tsx';

/** After this many pages no more are loaded: the list advises to use the filters instead. */
const pagesMax = 10;

/**
 * What happened, newest first. Members see what they and their agents did; admins and auditors see
 * the whole organisation.
 */
export function ActivityPage() {
  const [search] = useSearchParams();
  const navigate = useNavigate();
  const me = useMe();
  const pollEveryMs = usePollEveryMs();
  const filter = createMemo(() => readActivityFilter(search), undefined, {
    equals: (one, other) => toActivitySearch(one) === toActivitySearch(other),
  });
  const isFiltered = () => toActivitySearch(filter()) !== '';
  const change = (changed: ActivityFilter) =>
    navigate(`/activity${toActivitySearch(changed)}`, { replace: true, scroll: false });
  const records = useInfiniteQuery(() => ({
    ...activityQuery(filter()),
    // Many records cause no public event, so the list is polled. It is not polled once a second
    // page is loaded, so that nothing moves while the person reads.
    refetchInterval: (query: { state: { data?: { pages: unknown[] } | undefined } }) =>
      (query.state.data?.pages.length ?? 1) > 1 ? false : pollEveryMs() || askAgainMs,
  }));
  const pages = () => records.data?.pages ?? [];
  const lines = createMemo(() => eventLinesOf(pages().flatMap(({ items }) => items)));
  const displayNames = createMemo(
    () =>
      new Map(
        pages().flatMap(({ people }) =>
          (people ?? []).map((person) => [person.user_id, person.display_name] as const),
        ),
      ),
  );
  useTitle(() => 'Activity');

  return (
    <main id="content" class="mx-auto max-w-4xl px-3 py-4 sm:px-6 sm:py-8">
      <h1 class="px-1 text-xl font-semibold sm:text-2xl">Activity</h1>
      <p class="mt-1 px-1 text-ink-soft">
        {me().role === 'member'
          ? 'What you and your agents did, and what became of it.'
          : 'What everybody in the organisation did, and what became of it.'}
      </p>
      <Show when={me().role !== 'member'} fallback={<div class="h-4" />}>
        <ChainLine />
      </Show>
      <Filters filter={filter()} onChange={change} />
      <Show when={records.error}>
        {(error) => <ErrorNotice error={error()} onRetry={() => void records.refetch()} />}
      </Show>
      <Switch>
        <Match when={lines().length > 0}>
          <Rows>
            <KeyedList items={lines()} keyOf={({ key }) => key}>
              {(line) => (
                <EventRow
                  record={line().record}
                  displayName={displayNames().get(line().record.user_id ?? '')}
                />
              )}
            </KeyedList>
          </Rows>
          <Show when={records.hasNextPage}>
            <More
              isLast={pages().length >= pagesMax}
              isLoading={records.isFetchingNextPage}
              onMore={() => void records.fetchNextPage()}
            />
          </Show>
        </Match>
        <Match when={records.isPending}>
          <p class="flex items-center gap-3 px-1 py-3 text-ink-soft" role="status">
            <Spinner /> Loading…
          </p>
        </Match>
        <Match when={records.data && isFiltered()}>
          <Empty>
            <span class="mb-3 block">Nothing that is recorded matches.</span>
            <Button onClick={() => change(readActivityFilter({}))}>Show everything</Button>
          </Empty>
        </Match>
        <Match when={records.data}>
          <Empty>Nothing happened yet. Every call of an agent appears here.</Empty>
        </Match>
      </Switch>
    </main>
  );
}

function More(props: { isLast: boolean; isLoading: boolean; onMore: () => void }) {
  return (
    <p class="mt-4 text-center text-ink-soft">
      <Show
        when={!props.isLast}
        fallback="There is more before this. Search, or filter, to find it."
      >
        <Button disabled={props.isLoading} onClick={() => props.onMore()}>
          {props.isLoading ? 'Loading…' : 'Show older'}
        </Button>
      </Show>
    </p>
  );
}

function Filters(props: { filter: ActivityFilter; onChange: (filter: ActivityFilter) => void }) {
  const me = useMe();
  const identities = useInfiniteQuery(() => identitiesQuery());
  const services = useQuery(() => servicesQuery());
  const set = (part: Partial<ActivityFilter>) => props.onChange({ ...props.filter, ...part });
  const known = createMemo(() => (identities.data?.pages ?? []).flatMap(({ items }) => items));
  const people = createMemo(() =>
    withChosen(
      new Map(known().flatMap(({ id, kind, name }) => (kind === 'user' ? [[id, name]] : []))),
      props.filter.user_id,
      'this person',
    ),
  );
  const agents = createMemo(() =>
    withChosen(
      new Map(known().map(({ id, path }) => [id, path.slice(-2).join(' › ')] as const)),
      props.filter.agent,
      'this agent',
    ),
  );
  const serviceChoices = createMemo(() =>
    withChosen(
      new Map([
        ['http', 'direct HTTP'],
        ...(services.data ?? []).map(
          ({ name, tier, title }) => [referenceOf(name, tier), title] as const,
        ),
      ]),
      props.filter.service,
      props.filter.service,
    ),
  );
  // Open at first if a filter is set. Later changes of the filter neither open nor close it.
  const isOpenAtFirst = untrack(() => toActivitySearch({ ...props.filter, q: '' }) !== '');
  return (
    <search class="mb-4 block">
      <SearchField label="Search the activity" text={props.filter.q} onSearch={(q) => set({ q })} />
      <details class="mt-1" open={isOpenAtFirst}>
        <summary class="min-h-11 content-center rounded px-1 text-sm font-medium text-ink-soft hover:text-ink">
          Filter
        </summary>
        <div class="mt-1 grid grid-cols-2 gap-2 sm:grid-cols-3">
          <Select
            label="Who"
            value={props.filter.agent}
            options={[['', 'Everybody'], ...agents()]}
            onChange={(agent) => set({ agent })}
          />
          <Show when={me().role !== 'member' || props.filter.user_id !== ''}>
            <Select
              label="Whose agents"
              value={props.filter.user_id}
              options={[['', 'All people'], ...people()]}
              onChange={(user_id) => set({ user_id })}
            />
          </Show>
          <Select
            label="What"
            value={props.filter.type}
            options={typeChoices}
            onChange={(type) => set({ type: type as ActivityFilter['type'] })}
          />
          <Select
            label="Service"
            value={props.filter.service}
            options={[['', 'All services'], ...serviceChoices()]}
            onChange={(service) => set({ service })}
          />
          <Select
            label="Outcome"
            value={props.filter.outcome}
            options={outcomeChoices}
            onChange={(outcome) => set({ outcome: outcome as ActivityFilter['outcome'] })}
          />
          <Select
            label="Risk"
            value={props.filter.risk}
            options={riskChoices}
            onChange={(risk) => set({ risk: risk as ActivityFilter['risk'] })}
          />
          <Select
            label="When"
            value={props.filter.days}
            options={daysChoices}
            onChange={(days) => set({ days })}
          />
        </div>
      </details>
    </search>
  );
}
