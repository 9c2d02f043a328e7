import { useParams } from '@solidjs/router';
import { useMutation, useQuery } from '@tanstack/solid-query';
import { Match, Show, Switch, createSignal } from 'solid-js';
import type { JSX } from 'solid-js';

import type { ServiceRequest } from '#contracts/http/requests';
import { isApiError } from '../../api/client.ts';
import { Spinner } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { useTitle } from '../../ui/title.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { ClosedRequest } from '../connect/closed-request.tsx';
import { useMe } from '../session/session.tsx';
import { ProvideForm } from './provide-form.tsx';
import { Provided } from './provided.tsx';
import { provideSecret, secretRequestQuery } from './provide.queries.ts';

/**
 * The page on which a person enters a secret that an agent asked for. The agent never sees the
 * value.
 */
export function ProvidePage() {
  const params = useParams<{ token: string }>();
  return (
    <Show when={params.token} keyed>
      {(token) => <Provide token={token} />}
    </Show>
  );
}

function Provide(props: { token: string }) {
  const me = useMe();
  const secretRequest = useQuery(() => secretRequestQuery(props.token));
  const providing = useMutation(() => ({ mutationFn: provideSecret }));
  const [declined, setDeclined] = createSignal<ServiceRequest>();

  useTitle(() =>
    providing.isSuccess ? 'Secret stored' : declined() ? 'Request declined' : 'Enter a secret',
  );
  return (
    <main id="content" class="mx-auto max-w-xl px-3 py-4 sm:px-6 sm:py-10">
      <Switch
        fallback={
          <p class="flex items-center gap-3 py-10 text-ink-soft" role="status">
            <Spinner /> Loading…
          </p>
        }
      >
        <Match when={providing.data}>
          {(secret) => <Provided secret={secret()} by={secretRequest.data?.requested_by} />}
        </Match>
        <Match when={declined()}>{(request) => <ClosedRequest request={request()} />}</Match>
        <Match when={isApiError(secretRequest.error, 'not_found')}>
          <Refusal title="This link is not for you">
            You are signed in as{' '}
            <strong class="font-semibold">
              <VisibleText text={me().name} />
            </strong>
            , and there is no such link for you. It may be cut off; or it is meant for somebody
            else: secrets of the organisation are entered by an admin.
          </Refusal>
        </Match>
        <Match when={isApiError(secretRequest.error, 'expired')}>
          <Refusal title="This link no longer works">
            {secretRequest.error?.message} Nothing was changed by opening it.
          </Refusal>
        </Match>
        <Match when={isApiError(secretRequest.error, 'conflict')}>
          <Refusal title="There is such a secret already">
            <VisibleText text={secretRequest.error?.message ?? ''} />
          </Refusal>
        </Match>
        <Match when={secretRequest.data}>
          {(request) => (
            <ProvideForm
              request={request()}
              isStoring={providing.isPending}
              error={providing.error}
              onDeclined={setDeclined}
              onProvide={(body) => {
                if (!providing.isPending) providing.mutate({ token: props.token, body });
              }}
            />
          )}
        </Match>
        <Match when={secretRequest.error}>
          {(error) => (
            <>
              <h1 class="pb-4 text-xl font-semibold">This page cannot be shown</h1>
              <ErrorNotice error={error()} onRetry={() => void secretRequest.refetch()} />
            </>
          )}
        </Match>
      </Switch>
    </main>
  );
}

function Refusal(props: { title: string; children: JSX.Element }) {
  return (
    <>
      <h1 class="pt-8 text-xl font-semibold">{props.title}</h1>
      <p class="mt-2 text-ink-soft">{props.children}</p>
    </>
  );
}
