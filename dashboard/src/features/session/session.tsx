import { useQuery } from '@tanstack/solid-query';
import { Match, Switch, createContext, useContext } from 'solid-js';
import type { JSX } from 'solid-js';

import type { Me } from '#contracts/http/identities';
import { isApiError } from '../../api/client.ts';
import { Spinner } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { sessionQuery } from './session.queries.ts';
import { SignedOut } from './signed-out.tsx';

const MeContext = createContext<() => Me>();

/** Who is signed in; to be used below `Session` only. */
export function useMe(): () => Me {
  const me = useContext(MeContext);
  if (me === undefined) throw new Error('useMe needs a Session around it');
  return me;
}

/** Shows its children to somebody who is signed in, and to everybody else how to sign in, at any address. */
export function Session(props: { children: JSX.Element }) {
  const session = useQuery(() => sessionQuery());
  const isSignedOut = () => isApiError(session.error, 'unauthenticated');

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
      <Match when={isSignedOut()}>
        <SignedOut isChecking={session.isFetching} onCheck={() => void session.refetch()} />
      </Match>
      <Match when={session.data}>
        {(me) => <MeContext.Provider value={me}>{props.children}</MeContext.Provider>}
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
