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

/** An answer may lead to the next question, which is asked within this time. */
const nextQuestionMs = 30;
/** A page with a question that is answered so late is shown without the answer. */
const waitMsMax = 4_000;

const ShownContext = createContext<() => boolean>(() => true);

/** Whether the page is shown: nothing on it can take the focus before. */
export function useIsPageShown(): () => boolean {
  return useContext(ShownContext);
}

/**
 * Shows a page once the gateway has answered what the page asks first, whole and at once: a part that
 * came later would move the buttons below it under the hand. The page waits again when `address`
 * changes, for what it has not asked before.
 */
export function AfterFirstAnswers(props: {
  address: string;
  /** False for a page whose answers move nothing: it shows each as it comes. */
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
    const look = () => {
      clearTimeout(timer);
      if (queryClient.isFetching({ predicate: isFirstQuestion }) === 0) {
        timer = setTimeout(show, nextQuestionMs);
      }
    };
    const latest = setTimeout(show, waitMsMax);
    const unsubscribe = queryClient.getQueryCache().subscribe(look);
    const stop = () => {
      clearTimeout(timer);
      clearTimeout(latest);
      unsubscribe();
    };
    look();
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

/** A question that has failed is asked again while the page already says so, and shows the rest. */
const isFirstQuestion = ({ state }: Query) =>
  state.data === undefined && state.fetchFailureCount === 0 && state.errorUpdateCount === 0;
