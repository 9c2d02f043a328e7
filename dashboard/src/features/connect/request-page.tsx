import { useParams } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createSignal } from 'solid-js';
import type { JSX } from 'solid-js';

import type { ServiceRequest } from '#contracts/http/requests';
import type { ConnectedService } from '#contracts/http/services';
import { isApiError } from '../../api/client.ts';
import { ButtonLink } from '../../ui/button.tsx';
import { HostList } from '../../ui/host-list.tsx';
import { Spinner } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { Countdown } from '../../ui/times.tsx';
import { useTitle } from '../../ui/title.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { RequesterPath } from '../../ui/who.tsx';
import { useMe } from '../session/session.tsx';
import { ConnectForm } from './connect-form.tsx';
import { connectionsQuery, oauthAppQuery } from './connect.queries.ts';
import { ClosedRequest } from './closed-request.tsx';
import { Connected } from './connected.tsx';
import { Decline } from './decline.tsx';
import { answerLinkOf, mayAnswer, questionOf } from './request-words.ts';
import { requestedTemplateQuery, serviceRequestQuery } from './requests.queries.ts';

/** The page polls, because another person may answer the request, or the agent may withdraw it. */
const pollEveryMs = 5_000;

/** The page on which a person answers a request of an agent or of another person. */
export function RequestPage() {
  const params = useParams<{ id: string }>();
  return (
    <Show when={params.id} keyed>
      {(id) => <RequestById id={id} />}
    </Show>
  );
}

function RequestById(props: { id: string }) {
  const me = useMe();
  const serviceRequest = useQuery(() => ({
    ...serviceRequestQuery(props.id),
    refetchInterval: ({ state }: { state: { data?: ServiceRequest | undefined } }) =>
      state.data?.status === 'open' && pollEveryMs,
  }));
  const [connected, setConnected] = createSignal<ConnectedService>();

  useTitle(() => (serviceRequest.data === undefined ? 'Request' : questionOf(serviceRequest.data)));
  return (
    <main id="content" class="mx-auto max-w-xl px-3 py-4 sm:px-6 sm:py-10">
      <Switch
        fallback={
          <p class="flex items-center gap-3 py-10 text-ink-soft" role="status">
            <Spinner /> Loading…
          </p>
        }
      >
        <Match when={connected()}>
          {(service) => (
            <Connected
              service={service()}
              {...(serviceRequest.data === undefined ? {} : { request: serviceRequest.data })}
            />
          )}
        </Match>
        <Match
          when={
            isApiError(serviceRequest.error, 'not_found') ||
            isApiError(serviceRequest.error, 'invalid_request')
          }
        >
          <Message title="There is no such request">
            You are signed in as{' '}
            <strong class="font-semibold">
              <VisibleText text={me().name} />
            </strong>
            . The link may be cut off, or belong to another organisation.
          </Message>
        </Match>
        <Match when={isApiError(serviceRequest.error, 'not_in_your_chain')}>
          <Message title="This request is for somebody else">
            <VisibleText text={serviceRequest.error?.message ?? ''} /> You are signed in as{' '}
            <strong class="font-semibold">
              <VisibleText text={me().name} />
            </strong>
            .
          </Message>
        </Match>
        <Match when={serviceRequest.data}>
          {(data) => (
            <Show when={data().status === 'open'} fallback={<ClosedRequest request={data()} />}>
              <OpenRequest request={data()} onConnected={setConnected} />
            </Show>
          )}
        </Match>
        <Match when={serviceRequest.error}>
          {(error) => (
            <>
              <h1 class="pb-4 text-xl font-semibold">This request cannot be shown</h1>
              <ErrorNotice error={error()} onRetry={() => void serviceRequest.refetch()} />
            </>
          )}
        </Match>
      </Switch>
    </main>
  );
}

/** Whom the request asks: the requester's user, by name, or an admin of the org. */
const addressee = ({ tier, requester }: ServiceRequest): string =>
  tier === 'org' ? 'an admin' : (requester.path[0] ?? requester.name);

function OpenRequest(props: {
  request: ServiceRequest;
  onConnected: (service: ConnectedService) => void;
}) {
  const me = useMe();
  const wishSentence = () =>
    props.request.kind === 'service'
      ? 'asks you to connect a service'
      : props.request.kind === 'connection'
        ? 'asks you to connect an account'
        : 'asks you for a secret';

  // The form lists the current hosts of the service, so they are not listed here as well.
  const showsForm = () => props.request.kind === 'service' && mayAnswer(props.request, me());

  return (
    <article
      class="rounded-2xl border border-t-4 border-line border-t-medium-band bg-surface shadow-sm"
      aria-labelledby="request-title"
    >
      <header class="px-4 pt-4 pb-5 sm:px-6">
        <RequesterPath requester={props.request.requester} wantsWords={wishSentence()} />
        <h1 id="request-title" class="mt-4 text-xl leading-snug font-semibold sm:text-2xl">
          <VisibleText text={questionOf(props.request)} />
        </h1>
        <Show when={props.request.reason}>
          {(reason) => (
            <blockquote class="mt-3 border-l-4 border-line pl-3 break-words whitespace-pre-wrap">
              <VisibleText text={reason()} multiline />
            </blockquote>
          )}
        </Show>
        <Show when={props.request.also_asked_by.length > 0}>
          <p class="mt-2 text-sm text-ink-soft">
            Also asked by{' '}
            <For each={props.request.also_asked_by}>
              {(other, index) => (
                <>
                  {index() > 0 ? ', ' : ''}
                  <VisibleText text={other.name} />
                </>
              )}
            </For>
          </p>
        </Show>
        <Show when={props.request.connection_id}>{(id) => <AtProvider connectionId={id()} />}</Show>
        <Show when={props.request.scopes.length > 0}>
          <p class="mt-3 text-sm text-ink-soft">It asks for this access:</p>
          <ul class="font-mono text-sm font-semibold wrap-anywhere">
            <For each={props.request.scopes}>
              {(scope) => (
                <li>
                  <VisibleText text={scope} />
                </li>
              )}
            </For>
          </ul>
        </Show>
        <Show when={!showsForm() && props.request.hosts.length > 0}>
          <div class="mt-3 text-sm text-ink-soft">
            It goes to
            <HostList hosts={props.request.hosts} />
          </div>
        </Show>
        <p class="mt-2 text-sm text-ink-soft">
          <Countdown endsAt={props.request.expires_at} textAfter="left to answer" />
        </p>
      </header>
      <Switch>
        <Match when={!mayAnswer(props.request, me())}>
          <p class="border-t border-line px-4 py-5 text-ink-soft sm:px-6">
            It waits for <VisibleText text={addressee(props.request)} />, who can answer it here.
          </p>
        </Match>
        <Match when={props.request.kind === 'service' && props.request.template}>
          {(template) => (
            <TemplateForm
              templateKey={template().key}
              request={props.request}
              onConnected={props.onConnected}
            />
          )}
        </Match>
        <Match when={true}>
          <div class="grid gap-3 border-t border-line px-4 py-5 sm:px-6">
            <Show when={answerLinkOf(props.request)}>
              {(step) => (
                <ButtonLink
                  look="primary"
                  class="w-full"
                  rel={step().isExternal ? 'external' : ''}
                  href={step().href}
                >
                  {step().label}
                </ButtonLink>
              )}
            </Show>
            <Decline request={props.request} />
          </div>
        </Match>
      </Switch>
    </article>
  );
}

/**
 * Says at which provider the account is. The name of the account does not show this reliably,
 * because the requester chose that name.
 */
function AtProvider(props: { connectionId: string }) {
  const connections = useQuery(() => connectionsQuery());
  const provider = () => connections.data?.find(({ id }) => id === props.connectionId)?.provider;
  const app = useQuery(() => ({
    ...oauthAppQuery(provider() ?? ''),
    enabled: provider() !== undefined,
  }));
  return (
    <Show when={provider()}>
      {(key) => (
        <p class="mt-3 text-sm text-ink-soft">
          The account is at{' '}
          <strong class="font-semibold text-ink">
            <VisibleText text={app.data?.title ?? key()} />
          </strong>
          .
        </p>
      )}
    </Show>
  );
}

function TemplateForm(props: {
  templateKey: string;
  request: ServiceRequest;
  onConnected: (service: ConnectedService) => void;
}) {
  const template = useQuery(() => requestedTemplateQuery(props.templateKey));
  return (
    <Switch
      fallback={
        <p class="flex items-center gap-3 px-4 py-10 text-ink-soft sm:px-6" role="status">
          <Spinner /> Loading…
        </p>
      }
    >
      <Match when={template.data} keyed>
        {(data) => (
          <ConnectForm
            template={data}
            request={props.request}
            decline={<Decline request={props.request} />}
            onConnected={props.onConnected}
            onChanged={() => void template.refetch()}
          />
        )}
      </Match>
      <Match when={template.error}>
        {(error) => (
          <div class="px-4 pb-5 sm:px-6">
            <ErrorNotice error={error()} onRetry={() => void template.refetch()} />
          </div>
        )}
      </Match>
    </Switch>
  );
}

function Message(props: { title: string; children: JSX.Element }) {
  return (
    <>
      <h1 class="pt-8 text-xl font-semibold">{props.title}</h1>
      <p class="mt-2 text-ink-soft">{props.children}</p>
    </>
  );
}
