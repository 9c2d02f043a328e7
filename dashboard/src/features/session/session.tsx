import { useQuery } from '@tanstack/solid-query';
import {
  Match,
  Show,
  Switch,
  createContext,
  createEffect,
  createMemo,
  on,
  useContext,
} from 'solid-js';
import type { JSX } from 'solid-js';

import type { Me } from '#contracts/http/identities';
import { isApiError } from '../../api/client.ts';
import { Spinner } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { sessionQuery } from './session.queries.ts';
import { SessionEnded } from './session-ended.tsx';
import { SignedOut } from './signed-out.tsx';
import { useTypedText } from './typed-text.ts';

const MeContext = createContext<() => Me>();

/** The signed-in person. Only components inside `Session` may call this. */
export function useMe(): () => Me {
  const me = useContext(MeContext);
  if (me === undefined) throw new Error('useMe needs a Session around it');
  return me;
}

/**
 * Shows its children to a signed-in person. Anyone else gets the sign-in page, at every address. If
 * the session ends while the person has typed something that was not sent, the page is only
 * covered. It is shown again once the same person has signed in in another tab.
 */
export function Session(props: { children: JSX.Element }) {
  const session = useQuery(() => sessionQuery());
  const hasTypedText = useTypedText();
  const isSignedOut = createMemo(() => isApiError(session.error, 'unauthenticated'));
  const isCovered = createMemo(() => isSignedOut() && session.data !== undefined && hasTypedText());
  createEffect(
    on(
      () => session.data?.id,
      (id, previousId) => {
        // After another person has signed in, the reload discards what the previous person read and
        // typed.
        if (previousId !== undefined && id !== previousId) location.reload();
        return id;
      },
    ),
  );

  return (
    <Switch
      fallback={
        <main class="grid min-h-dvh place-items-center p-6">
          <p class="flex items-center gap-3 text-ink-soft" role="status">
            <Spinner /> Loading…
          </p>
        </main>
      }
    >
      <Match when={isSignedOut() && !isCovered()}>
        <SignedOut />
      </Match>
      <Match when={session.data}>
        {(me) => (
          <>
            <Show when={isCovered()}>
              <SessionEnded onReturn={() => void session.refetch()} />
            </Show>
            <div hidden={isCovered()}>
              <MeContext.Provider value={me}>{props.children}</MeContext.Provider>
            </div>
          </>
        )}
      </Match>
      <Match when={session.error}>
        {(error) => (
          <main class="mx-auto max-w-lg p-6 pt-[20vh]">
            <h1 class="mb-4 text-xl font-semibold">The dashboard cannot be loaded</h1>
            <ErrorNotice error={error()} onRetry={() => void session.refetch()} />
          </main>
        )}
      </Match>
    </Switch>
  );
}
