import { A } from '@solidjs/router';
import { queryOptions, useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createMemo } from 'solid-js';

import { isApiError } from '../../api/client.ts';
import { Icon, Spinner } from '../../ui/icon.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { useTitle } from '../../ui/title.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { servicesQuery } from '../connect/connect.queries.ts';
import { callAction } from '../services/services.queries.ts';

interface Note {
  readonly id: number;
  readonly board: string;
  readonly text: string;
  readonly pinned_at: string;
  readonly edited_at?: string;
}

/**
 * Events only report the end of approved calls. Calls that needed no approval and a restart of the
 * board cause no event, so the page also polls. It polls seldom, because every poll is a call in
 * the audit log.
 */
const askAgainMs = 30_000;

/** The notes on the person's own board. They are read by an ordinary call through the gateway. */
const notesQuery = () =>
  queryOptions({
    queryKey: ['sample', 'notes'],
    queryFn: async () => {
      const answer = await callAction({ service: 'sample', action: 'list_notes', params: {} });
      const body = answer.status === 'called' ? answer.result.body : null;
      const notes = (body as { notes?: Note[] } | null)?.notes;
      if (notes === undefined)
        throw new Error('The notice board did not answer; try again shortly.');
      return notes;
    },
    refetchInterval: askAgainMs,
  });

/** The page that shows the notes on the notice board (docs/operating.md#the-sample-service). */
export function SamplePage() {
  useTitle(() => 'Notice board');
  const services = useQuery(() => servicesQuery());
  const isConnected = () => services.data?.some(({ name }) => name === 'sample');
  const notes = useQuery(() => ({ ...notesQuery(), enabled: isConnected() === true }));
  const boards = createMemo(() => [
    ...Map.groupBy(notes.data ?? [], ({ board }) => board).entries(),
  ]);
  return (
    <main id="content" class="mx-auto max-w-4xl px-3 py-4 sm:px-6 sm:py-6">
      <h1 class="px-1 text-xl font-semibold">Notice board</h1>
      <p class="mt-1 mb-4 px-1 text-ink-soft">
        The sample service. What agents pin appears here once it is allowed.
      </p>
      <Switch
        fallback={
          <p class="flex items-center gap-3 px-1 py-6 text-ink-soft" role="status">
            <Spinner /> Loading…
          </p>
        }
      >
        <Match when={isConnected() === false || isApiError(notes.error, 'unknown_service')}>
          <p class="px-1 text-ink-soft">
            You have not connected it.{' '}
            <A
              class="font-medium underline underline-offset-4"
              href="/services/new?template=sample"
            >
              Connect the notice board
            </A>
          </p>
        </Match>
        <Match when={services.error ?? notes.error}>
          {(error) => (
            <ErrorNotice
              error={error()}
              onRetry={() => void (services.isError ? services : notes).refetch()}
            />
          )}
        </Match>
        <Match when={notes.data}>
          <Show
            when={boards().length > 0}
            fallback={
              <p class="rounded-xl border border-dashed border-line-strong px-4 py-6 text-center text-ink-soft">
                Nothing is pinned. The board forgets everything when the gateway stops.
              </p>
            }
          >
            <For each={boards()}>{([name, pinned]) => <Board name={name} notes={pinned} />}</For>
          </Show>
        </Match>
      </Switch>
    </main>
  );
}

function Board(props: { name: string; notes: readonly Note[] }) {
  return (
    <section class="mb-6">
      <h2 class="mb-2 px-1 text-lg font-semibold">
        <VisibleText text={props.name} />
      </h2>
      <ul class="grid gap-3 sm:grid-cols-2 lg:grid-cols-3">
        <For each={props.notes}>
          {(note) => (
            <li class="rounded-xl border border-line border-t-4 border-t-medium-band bg-surface p-4">
              <div class="wrap-anywhere">
                <LongText text={note.text} />
              </div>
              <p class="mt-2 flex items-center gap-1 text-sm text-ink-soft">
                <Icon name="pencil" class="size-4" /> No. {note.id} ·{' '}
                <TimeAgo at={note.edited_at ?? note.pinned_at} />
              </p>
            </li>
          )}
        </For>
      </ul>
    </section>
  );
}
