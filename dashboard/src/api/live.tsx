import { useQueryClient } from '@tanstack/solid-query';
import { createContext, createSignal, onCleanup, untrack, useContext } from 'solid-js';
import type { JSX } from 'solid-js';

import type { EventType } from '#contracts/event-types';
import { isApiError } from './client.ts';
import type { StreamState } from './event-stream.ts';
import { isWorthRetrying, sessionKey } from './query-client.ts';
import { openSharedEventStream } from './shared-event-stream.ts';

const LiveContext = createContext<() => StreamState>();

/**
 * How long to collect events before refreshing. Many events at one time cause only one refresh, for
 * example when twenty approvals are denied together.
 */
const gatherEventsMs = 150;
/**
 * The least time between two refreshes. Each refresh requests everything again that the page shows.
 */
const refreshEveryMs = 1_000;
const pollEveryMs = 10_000;

/** Keeps the page up to date with the gateway's event stream. */
export function LiveUpdates(props: {
  personId: string;
  onEvent: (type: EventType, data: unknown) => void;
  children: JSX.Element;
}) {
  const queryClient = useQueryClient();
  const [state, setState] = createSignal<StreamState>('connecting');
  let timer: ReturnType<typeof setTimeout> | undefined;
  let refreshedAt = -Infinity;
  const refresh = () => {
    const waitMs = Math.max(gatherEventsMs, refreshedAt + refreshEveryMs - performance.now());
    timer ??= setTimeout(() => {
      timer = undefined;
      refreshedAt = performance.now();
      void queryClient.invalidateQueries({
        predicate: ({ queryKey, state }) =>
          queryKey[0] !== sessionKey[0] && !wasQueryRefused(state),
      });
    }, waitMs);
  };
  const stream = openSharedEventStream(
    untrack(() => props.personId),
    {
      onState: (next) => {
        setState(next);
        if (next !== 'lost') return;
        // The stream may have failed because the session has ended.
        void queryClient.invalidateQueries({ queryKey: sessionKey });
      },
      // The first opening also refreshes: data may have changed after the page's first answers and
      // before the stream was open.
      onOpen: refresh,
      onEvent: (type, data) => {
        refresh();
        props.onEvent(type, data);
      },
    },
  );
  onCleanup(() => {
    clearTimeout(timer);
    stream[Symbol.dispose]();
  });

  return <LiveContext.Provider value={state}>{props.children}</LiveContext.Provider>;
}

/**
 * Whether the gateway refused this query, for example with `not_found`. Such a query is not sent
 * again after an event: the gateway would most likely refuse it again, and until then the page
 * would show "Loading…" instead of the refusal.
 */
const wasQueryRefused = ({ data, error }: { data: unknown; error: Error | null }) =>
  data === undefined && isApiError(error) && error.code !== 'internal' && !isWorthRetrying(error);

export function useStreamState(): () => StreamState {
  const state = useContext(LiveContext);
  if (state === undefined) throw new Error('useStreamState needs Live around it');
  return state;
}

/** How often to poll while the event stream is down; false while the stream is open. */
export function usePollEveryMs(): () => number | false {
  const state = useStreamState();
  return () => (state() === 'live' ? false : pollEveryMs);
}
