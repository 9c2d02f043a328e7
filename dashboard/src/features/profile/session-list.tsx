import { useMutation, useQuery, useQueryClient } from '@tanstack/solid-query';
import { For, Match, Show, Switch } from 'solid-js';

import type { PublicSession } from '#contracts/http/sign-in';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { nameDevice } from './device-name.ts';
import { endOtherSessions, endSession, sessionsQuery } from './profile.queries.ts';

const openedWords = {
  link: 'with a one-time link',
  password: 'with a password',
  provider: 'through a sign-in provider',
} as const;

/** The browsers in which the person is signed in; this one first. */
export function SessionList() {
  const queryClient = useQueryClient();
  const sessions = useQuery(() => sessionsQuery());
  const ordered = () =>
    (sessions.data?.items ?? []).toSorted((a, b) => Number(b.current) - Number(a.current));
  const refresh = (sentence: string) => async () => {
    announce(sentence);
    await queryClient.invalidateQueries({ queryKey: sessionsQuery().queryKey });
  };
  const ending = useMutation(() => ({
    mutationFn: endSession,
    onSettled: refresh('The session is ended.'),
  }));
  const endingOthers = useMutation(() => ({
    mutationFn: endOtherSessions,
    onSettled: refresh('All other sessions are ended.'),
  }));

  return (
    <Switch fallback={<p role="status">Loading…</p>}>
      <Match when={sessions.data}>
        <ul class="divide-y divide-line">
          <For each={ordered()}>
            {(session) => (
              <SessionRow
                session={session}
                isEnding={ending.isPending && ending.variables.id === session.id}
                onEnd={() => ending.mutate({ id: session.id })}
              />
            )}
          </For>
        </ul>
        <Show when={sessions.data?.next_cursor}>
          <p class="mt-2 text-sm text-ink-soft">There are more than these 50.</p>
        </Show>
        <Show when={ending.error ?? endingOthers.error}>
          {(error) => (
            <div class="mt-3">
              <ErrorNotice error={error()} />
            </div>
          )}
        </Show>
        <Show
          when={ordered().length > 1}
          fallback={<p class="mt-2 text-sm text-ink-soft">You are signed in nowhere else.</p>}
        >
          <Button
            class="mt-3"
            disabled={endingOthers.isPending}
            onClick={() => endingOthers.mutate()}
          >
            {endingOthers.isPending ? 'Ending…' : 'End all other sessions'}
          </Button>
        </Show>
      </Match>
      <Match when={sessions.error}>
        {(error) => <ErrorNotice error={error()} onRetry={() => void sessions.refetch()} />}
      </Match>
    </Switch>
  );
}

function SessionRow(props: { session: PublicSession; isEnding: boolean; onEnd: () => void }) {
  const device = () => nameDevice(props.session.user_agent);
  return (
    <li class="flex flex-wrap items-center gap-x-4 gap-y-1 py-3 first:pt-0">
      <div class="min-w-0 grow basis-56">
        <p class="font-medium wrap-anywhere">
          <VisibleText text={device()} />
          <Show when={props.session.current}>
            <span class="ml-2 rounded-full bg-accent-soft px-2 py-0.5 text-sm text-accent">
              This one
            </span>
          </Show>
        </p>
        <p class="text-sm wrap-anywhere text-ink-soft">
          Last used <TimeAgo at={props.session.last_used_at} /> · opened{' '}
          {openedWords[props.session.opened_by]} <TimeAgo at={props.session.created_at} />
          <Show when={props.session.ip}>
            {(ip) => (
              <>
                {' '}
                · from <VisibleText text={ip()} />
              </>
            )}
          </Show>
        </p>
      </div>
      <Show when={!props.session.current}>
        <Button
          disabled={props.isEnding}
          aria-label={`End the session of ${device()}`}
          onClick={() => props.onEnd()}
        >
          {props.isEnding ? 'Ending…' : 'End'}
        </Button>
      </Show>
    </li>
  );
}
