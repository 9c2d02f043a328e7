import { A, useLocation, useNavigate, useParams } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createEffect, createMemo } from 'solid-js';

import { isApiError } from '../../api/client.ts';
import { usePollEveryMs } from '../../api/live.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Chip } from '../../ui/chip.tsx';
import { HostList } from '../../ui/host-list.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { useTitle } from '../../ui/title.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { ActionList } from './action-list.tsx';
import { EndService } from './end-service.tsx';
import { Loading, Panel } from './parts.tsx';
import { ReadsSwitch } from './reads-switch.tsx';
import { WhatIsMissing } from './service-state.tsx';
import {
  credentialPathOf,
  isSample,
  mayChange,
  serviceReferenceOf,
  stateOf,
} from './service-view.ts';
import { serviceQuery } from './services.queries.ts';
import type { ServiceDetail } from './services.queries.ts';
import { ServiceTools } from './service-tools.tsx';
import { ServiceVersion } from './service-version.tsx';
import { Badge } from './state-badge.tsx';

export function ServicePage() {
  const params = useParams<{ name: string }>();
  return (
    <Show when={params.name} keyed>
      {(name) => <ServiceByReference reference={name} />}
    </Show>
  );
}

export function OrgServicePage() {
  const params = useParams<{ name: string }>();
  return (
    <Show when={params.name} keyed>
      {(name) => <ServiceByReference reference={`org/${name}`} />}
    </Show>
  );
}

function ServiceByReference(props: { reference: string }) {
  const pollEveryMs = usePollEveryMs();
  const service = useQuery(() => ({
    ...serviceQuery(props.reference),
    refetchInterval: pollEveryMs(),
  }));
  useTitle(() => service.data?.title ?? 'Service');
  const isUnknown = () =>
    isApiError(service.error, 'unknown_service') || isApiError(service.error, 'not_found');
  return (
    <main id="content" class="mx-auto max-w-3xl px-3 py-4 sm:px-6 sm:py-8">
      <A
        href="/services"
        class="inline-flex min-h-11 items-center gap-1 text-sm font-medium text-ink-soft hover:text-ink"
      >
        <Icon name="back" class="size-4" /> Services
      </A>
      <Switch fallback={<Loading />}>
        <Match when={isUnknown()}>
          <h1 class="mt-2 text-xl font-semibold">There is no service of this name</h1>
          <p class="mt-2 text-ink-soft">
            <code class="font-mono wrap-anywhere">
              <VisibleText text={props.reference} />
            </code>{' '}
            is not connected, or not for you. It may have been disconnected.
          </p>
        </Match>
        <Match when={service.data}>{(data) => <Service service={data()} />}</Match>
        <Match when={service.error}>
          {(error) => <ErrorNotice error={error()} onRetry={() => void service.refetch()} />}
        </Match>
      </Switch>
    </main>
  );
}

function Service(props: { service: ServiceDetail }) {
  const me = useMe();
  const navigate = useNavigate();
  const location = useLocation();
  const reference = () => serviceReferenceOf(props.service);
  const isMine = createMemo(() => mayChange(me(), props.service.tier));

  // Scrolls to the part that the link names. The part exists only once the service has been loaded.
  createEffect(() => {
    if (location.hash === '') return;
    document.getElementById(location.hash.slice(1))?.scrollIntoView({ block: 'nearest' });
  });

  return (
    <>
      <header class="mt-1">
        <div class="flex flex-wrap items-center gap-x-3 gap-y-2">
          <h1 class="min-w-0 text-xl font-semibold sm:text-2xl">
            <VisibleText text={props.service.title} />
          </h1>
          <Badge state={stateOf(props.service)} />
        </div>
        <p class="mt-1 flex flex-wrap items-center gap-2 text-sm text-ink-soft">
          <span>
            Agents call it <code class="font-mono wrap-anywhere">{reference()}</code>
          </span>
          <Chip>{props.service.tier === 'org' ? 'Organisation' : 'Mine'}</Chip>
          <Show when={isSample(props.service)}>
            <Chip>Sample</Chip>
          </Show>
        </p>
        <Show when={props.service.description}>
          {(description) => (
            <p class="mt-2 text-ink-soft">
              <VisibleText text={description()} />
            </p>
          )}
        </Show>
        <Show when={isSample(props.service)}>
          <ButtonLink class="mt-3" rel="" href="/sample">
            Look at the board
          </ButtonLink>
        </Show>
      </header>
      <Show when={props.service.status === 'disabled'}>
        <div class="mt-4">
          <Notice tone="warning">
            It is switched off: agents find none of its actions, and nobody can call them.
          </Notice>
        </div>
      </Show>
      <WhatIsMissing service={props.service} mayChange={isMine()} />
      <ServiceTools service={props.service} mayChange={isMine()} />
      <ServiceVersion service={props.service} mayChange={isMine()} />
      <ActionList service={props.service} />
      <Panel title="What runs without asking">
        <ReadsSwitch service={props.service} mayChange={isMine()} />
      </Panel>
      <Credentials service={props.service} />
      <Show when={isMine()}>
        <EndService service={props.service} onEnded={() => navigate('/services')} />
      </Show>
    </>
  );
}

/** The credentials by name, each with a link to its page and with the hosts that it is sent to. */
function Credentials(props: { service: ServiceDetail }) {
  const used = createMemo(() => [
    ...[...new Set(Object.values(props.service.credentials.secrets))].map((name) => ({
      kind: 'secret' as const,
      name,
    })),
    ...(props.service.credentials.connection === null
      ? []
      : [{ kind: 'connection' as const, name: props.service.credentials.connection }]),
  ]);
  return (
    <Panel title="Credentials and hosts">
      <Show
        when={used().length > 0}
        fallback={<p class="text-ink-soft">It is called without any credential.</p>}
      >
        <ul class="grid gap-1">
          <For each={used()}>
            {({ kind, name }) => (
              <li class="flex items-center gap-2">
                <Icon
                  name={kind === 'secret' ? 'key' : 'user'}
                  class="size-5 shrink-0 text-ink-soft"
                />
                <span>
                  {kind === 'secret' ? 'Secret' : 'Account'}{' '}
                  <A
                    href={credentialPathOf(kind, name)}
                    class="inline-flex min-h-6 items-center font-mono font-medium wrap-anywhere underline underline-offset-4"
                  >
                    {name}
                  </A>
                </span>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <div>
        <p class="text-sm text-ink-soft">Its calls go to</p>
        <HostList hosts={props.service.hosts} />
      </div>
      <details class="text-sm text-ink-soft">
        <summary class="min-h-6 font-medium">Details</summary>
        <p class="mt-1 wrap-anywhere">
          Catalogue entry <code class="font-mono">{props.service.template}</code>, version{' '}
          {props.service.template_version}, at{' '}
          <code class="font-mono">
            <VisibleText text={props.service.base_url} />
          </code>
        </p>
      </details>
    </Panel>
  );
}
