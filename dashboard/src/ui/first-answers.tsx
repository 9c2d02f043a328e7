import { useQueryClient } from '@tanstack/solid-query';
import type { Query } from '@tanstack/solid-query';
import {
  Show,
  createContext,
  createEffect,
  createSignal,
  on,
  onCleanup,
  untrack,
  useContext,
} from 'solid-js';
import type { JSX } from 'solid-js';

import { Spinner } from './icon.tsx';

/** An answer may lead to another query. The page waits this long for such a query to start. */
const nextQuestionMs = 30;
/** After this time the page is shown even if answers are missing. */
const waitMsMax = 4_000;

const ShownContext = createContext<() => boolean>(() => true);

/** Whether the page is visible. Before that, nothing on it can get the focus. */
export function useIsPageShown(): () => boolean {
  return useContext(ShownContext);
}

/**
 * Shows a page only once the gateway has answered its first queries. Otherwise a part that came
 * later would move the buttons below it just as a person presses them. When `address` changes, the
 * page waits again for queries without data.
 */
export function AfterFirstAnswers(props: {
  address: string;
  /** False for a page whose layout does not shift as answers arrive. It is shown at once. */
  isNeeded?: boolean;
  children: JSX.Element;
}) {
  const queryClient = useQueryClient();
  const isNeeded = untrack(() => props.isNeeded ?? true);
  const [isWaiting, setWaiting] = createSignal(isNeeded);
  const isShown = () => !isWaiting();

  const wait = () => {
    setWaiting(true);
    let timer: ReturnType<typeof setTimeout> | undefined;
    const show = () => {
      stop();
      setWaiting(false);
    };
    const checkQueries = () => {
      clearTimeout(timer);
      if (queryClient.isFetching({ predicate: isFirstQuestion }) === 0) {
        timer = setTimeout(show, nextQuestionMs);
      }
    };
    const latest = setTimeout(show, waitMsMax);
    const unsubscribe = queryClient.getQueryCache().subscribe(checkQueries);
    const stop = () => {
      clearTimeout(timer);
      clearTimeout(latest);
      unsubscribe();
    };
    checkQueries();
    onCleanup(stop);
  };
  if (isNeeded) createEffect(on(() => props.address, wait));

  return (
    <div class="relative">
      <Show when={isWaiting()}>
        <p class="absolute top-0 left-0 flex items-center gap-3 p-6 text-ink-soft" role="status">
          <Spinner /> Loading…
        </p>
      </Show>
      <ShownContext.Provider value={isShown}>
        <div classList={{ invisible: isWaiting() }}>{props.children}</div>
      </ShownContext.Provider>
    </div>
  );
}

/**
 * A query that has failed does not count: the page already shows its error, while it is retried.
 */
const isFirstQuestion = ({ state }: Query) =>
  state.data === undefined && state.fetchFailureCount === 0 && state.errorUpdateCount === 0;
