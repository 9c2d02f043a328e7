import { A } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createMemo, createSignal, createUniqueId } from 'solid-js';

import type { ServiceRequest } from '#contracts/http/requests';
import type { ConnectedService } from '#contracts/http/services';
import { usePollEveryMs } from '../../api/live.tsx';
import { ButtonLink } from '../../ui/button.tsx';
import { Chip } from '../../ui/chip.tsx';
import { fieldLook } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { useTitle } from '../../ui/title.ts';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { servicesQuery, templatesQuery } from '../connect/connect.queries.ts';
import { openRequestsQuery } from '../connect/requests.queries.ts';
import { questionOf } from '../connect/request-words.ts';
import { useMe } from '../session/session.tsx';
import { Loading } from './parts.tsx';
import {
  filterServices,
  isSample,
  needsFix,
  mayChange,
  fixesOf,
  pathOf,
  serviceReferenceOf,
  sortServices,
  stateOf,
} from './service-view.ts';
import { Badge } from './state-badge.tsx';

/**
 * The search field is shown from this number of services on. With fewer services it would only be
 * in the way.
 */
const searchFrom = 8;

/** The page with open requests of agents and the connected services. Services to fix come first. */
export function ServicesPage() {
  const me = useMe();
  const pollEveryMs = usePollEveryMs();
  const services = useQuery(() => ({ ...servicesQuery(), refetchInterval: pollEveryMs() }));
  const [words, setWords] = createSignal('');
  const searchId = createUniqueId();
  const shown = createMemo(() => sortServices(filterServices(services.data ?? [], words())));
  const mayConnect = () => me().role !== 'auditor';
  useTitle(() => 'Services');

  return (
    <main id="content" class="mx-auto max-w-3xl px-3 py-4 sm:px-6 sm:py-8">
      <div class="flex flex-wrap items-center justify-between gap-3">
        <h1 class="text-xl font-semibold sm:text-2xl">Services</h1>
        <div class="flex flex-wrap gap-2">
          <ButtonLink rel="" href="/services/credentials">
            <Icon name="key" /> Credentials
          </ButtonLink>
          <Show when={mayConnect() && (services.data?.length ?? 0) > 0}>
            <ButtonLink look="primary" rel="" href="/services/new">
              Connect<span class="max-sm:sr-only"> a service</span>
            </ButtonLink>
          </Show>
        </div>
      </div>
      <OpenRequests />
      <Switch fallback={<Loading />}>
        <Match when={services.data?.length === 0}>
          <Empty mayConnect={mayConnect()} />
        </Match>
        <Match when={services.data}>
          {(all) => (
            <>
              <Show when={all().length >= searchFrom}>
                <label for={searchId} class="sr-only">
                  Search the services
                </label>
                <input
                  id={searchId}
                  type="search"
                  class={`mt-4 ${fieldLook}`}
                  placeholder={`Search ${all().length} services`}
                  autocomplete="off"
                  value={words()}
                  onInput={(event) => setWords(event.currentTarget.value)}
                />
              </Show>
              <Show when={shown().length === 0}>
                <p class="mt-4 text-ink-soft" role="status">
                  No service matches.
                </p>
              </Show>
              <ul class="mt-4 grid gap-3" aria-label="Connected services">
                <For each={shown()}>{(service) => <ServiceRow service={service} />}</For>
              </ul>
            </>
          )}
        </Match>
        <Match when={services.error}>
          {(error) => (
            <div class="mt-4">
              <ErrorNotice error={error()} onRetry={() => void services.refetch()} />
            </div>
          )}
        </Match>
      </Switch>
    </main>
  );
}

function ServiceRow(props: { service: ConnectedService }) {
  const me = useMe();
  const titleId = createUniqueId();
  return (
    <li
      class="relative rounded-xl border border-line bg-surface p-4 shadow-sm hover:border-line-strong"
      classList={{ 'border-l-4 border-l-medium-band': needsFix(props.service) }}
      aria-labelledby={titleId}
    >
      <div class="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
        <h2 id={titleId} class="min-w-0 font-semibold">
          {/* The link covers the whole row; the links to the fixes are in front of it. */}
          <A
            href={pathOf(props.service)}
            class="rounded after:absolute after:inset-0 after:rounded-xl"
          >
            <VisibleText text={props.service.title} />
          </A>
        </h2>
        <Badge state={stateOf(props.service)} />
      </div>
      <p class="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-sm text-ink-soft">
        <code class="font-mono wrap-anywhere">{serviceReferenceOf(props.service)}</code>
        <span aria-hidden="true">·</span>
        <span>
          {props.service.actions_count === 1
            ? 'one action'
            : `${props.service.actions_count} actions`}
        </span>
        <Chip>{props.service.tier === 'org' ? 'Organisation' : 'Mine'}</Chip>
        <Show when={isSample(props.service)}>
          <Chip>Sample</Chip>
        </Show>
        <Show when={hasUpgrade(props.service)}>
          <Chip>New version</Chip>
        </Show>
      </p>
      <Show when={props.service.status !== 'disabled'}>
        <For each={fixesOf(props.service)}>
          {(fix) => (
            <p class="mt-2 text-sm">
              <VisibleText text={fix.sentence} />{' '}
              <Show
                when={mayChange(me(), props.service.tier)}
                fallback={<Show when={me().role === 'member'}>An admin can fix this.</Show>}
              >
                <A
                  href={fix.href}
                  class="relative inline-flex min-h-6 items-center font-semibold underline underline-offset-4"
                >
                  {fix.linkLabel}
                </A>
              </Show>
            </p>
          )}
        </For>
      </Show>
    </li>
  );
}

const hasUpgrade = ({ newest_version: newest, template_version: version }: ConnectedService) =>
  newest !== null && newest !== version;

/** What agents ask for, as long as nobody has answered it. */
function OpenRequests() {
  const pollEveryMs = usePollEveryMs();
  const requests = useQuery(() => ({ ...openRequestsQuery(), refetchInterval: pollEveryMs() }));
  return (
    <Switch>
      <Match when={requests.error}>
        {(error) => (
          <div class="mt-4">
            <ErrorNotice error={error()} onRetry={() => void requests.refetch()} />
          </div>
        )}
      </Match>
      <Match when={(requests.data?.length ?? 0) > 0}>
        <section class="mt-4" aria-labelledby="asked-title">
          <h2 id="asked-title" class="text-sm font-semibold text-ink-soft">
            Asked for ({requests.data?.length})
          </h2>
          <ul class="mt-2 grid gap-2">
            <For each={requests.data}>{(each) => <RequestRow request={each} />}</For>
          </ul>
        </section>
      </Match>
    </Switch>
  );
}

function RequestRow(props: { request: ServiceRequest }) {
  return (
    <li>
      <A
        href={`/requests/${props.request.id}`}
        class="flex min-h-11 items-center gap-3 rounded-xl border border-line border-l-4 border-l-medium-band bg-surface px-4 py-3 hover:bg-sunken"
      >
        <span class="min-w-0 grow">
          <span class="block font-semibold wrap-anywhere">
            <VisibleText text={questionOf(props.request)} />
          </span>
          <span class="block text-sm text-ink-soft">
            <VisibleText text={props.request.requester.path.join(' › ')} /> ·{' '}
            <TimeAgo at={props.request.created_at} />
            {props.request.tier === 'org' ? ' · for the organisation' : ''}
          </span>
          <Show when={props.request.reason}>
            {(reason) => (
              <span class="block text-sm wrap-anywhere">
                “<VisibleText text={reason()} />”
              </span>
            )}
          </Show>
        </span>
        <Icon name="back" class="size-5 shrink-0 rotate-180 text-ink-soft" />
      </A>
    </li>
  );
}

/**
 * The services that most people begin with. Those that are missing in the catalogue are left out.
 */
const firstKeys = ['sample', 'github', 'slack'];

function Empty(props: { mayConnect: boolean }) {
  const templates = useQuery(() => ({ ...templatesQuery(), enabled: props.mayConnect }));
  const first = createMemo(() =>
    firstKeys.flatMap((key) => templates.data?.find((template) => template.key === key) ?? []),
  );
  return (
    <section class="mt-8 rounded-2xl border border-line bg-surface p-6 text-center">
      <Icon name="plug" class="mx-auto size-8 text-ink-soft" />
      <Show
        when={props.mayConnect}
        fallback={
          <h2 class="mt-3 text-lg font-semibold">
            No service is connected for the organisation yet
          </h2>
        }
      >
        <h2 class="mt-3 text-lg font-semibold">Connect the first service</h2>
        <p class="mt-1 text-ink-soft">
          Your agents then act on it: they read at once, and ask you before they change anything.
        </p>
        <p class="mt-5 flex flex-wrap justify-center gap-2">
          <For each={first()}>
            {(template) => (
              <ButtonLink rel="" href={`/services/new?template=${template.key}`}>
                <VisibleText text={template.title} />
              </ButtonLink>
            )}
          </For>
          <ButtonLink look="primary" rel="" href="/services/new">
            All services
          </ButtonLink>
        </p>
      </Show>
    </section>
  );
}
