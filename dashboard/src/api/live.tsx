import { useQueryClient } from '@tanstack/solid-query';
import { createContext, createSignal, onCleanup, useContext } from 'solid-js';
import type { JSX } from 'solid-js';

import { openEventStream } from './event-stream.ts';
import type { EventType, StreamState } from './event-stream.ts';
import { sessionKey } from './query-client.ts';

const LiveContext = createContext<() => StreamState>();

/** Bursts of events, as when twenty approvals are denied together, ask for everything once. */
const gatherMs = 150;
const pollEveryMs = 10_000;

/** Keeps what is on the page up to date by the gateway's event stream. */
export function Live(props: {
  onEvent: (type: EventType, data: unknown) => void;
  children: JSX.Element;
}) {
  const queryClient = useQueryClient();
  const [state, setState] = createSignal<StreamState>('connecting');
  let timer: ReturnType<typeof setTimeout> | undefined;
  const refresh = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void queryClient.invalidateQueries({
        predicate: ({ queryKey }) => queryKey[0] !== sessionKey[0],
      });
    }, gatherMs);
  };
  const stream = openEventStream({
    onState: (next) => {
      setState(next);
      if (next !== 'lost') return;
      // Perhaps because the session has ended.
      void queryClient.invalidateQueries({ queryKey: sessionKey });
    },
    // The first time too: something may have happened between the first answers and this.
    onOpen: refresh,
    onEvent: (type, data) => {
      refresh();
      props.onEvent(type, data);
    },
  });
  onCleanup(() => {
    clearTimeout(timer);
    stream[Symbol.dispose]();
  });

  return <LiveContext.Provider value={state}>{props.children}</LiveContext.Provider>;
}

export function useStreamState(): () => StreamState {
  const state = useContext(LiveContext);
  if (state === undefined) throw new Error('useStreamState needs Live around it');
  return state;
}

/** How often to ask while nothing is announced; never while it is. */
export function usePollEveryMs(): () => number | false {
  const state = useStreamState();
  return () => (state() === 'live' ? false : pollEveryMs);
}
