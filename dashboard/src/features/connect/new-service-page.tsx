import { A, useSearchParams } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createMemo, createSignal, createUniqueId } from 'solid-js';

import type { ConnectedService } from '#contracts/http/services';
import { isApiError } from '../../api/client.ts';
import { fieldLook } from '../../ui/field.tsx';
import { Icon, Spinner } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { useTitle } from '../../ui/title.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { ConnectForm } from './connect-form.tsx';
import { templateQuery, templatesQuery } from './connect.queries.ts';
import { Connected } from './connected.tsx';
import { findTemplates } from './find-templates.ts';
import type { FoundTemplates } from './find-templates.ts';

/** The page on which a person connects a service without a request. */
export function NewServicePage() {
  const me = useMe();
  const [search] = useSearchParams<{ template?: string }>();
  useTitle(() => 'Connect a service');
  return (
    <main id="content" class="mx-auto max-w-xl px-3 py-4 sm:px-6 sm:py-10">
      <Show
        when={me().role !== 'auditor'}
        fallback={<p class="pt-8 text-ink-soft">Auditors connect no services.</p>}
      >
        <Show when={search.template} keyed fallback={<Chooser />}>
          {(key) => <ConnectTemplate templateKey={key} />}
        </Show>
      </Show>
    </main>
  );
}

function ConnectTemplate(props: { templateKey: string }) {
  const template = useQuery(() => templateQuery(props.templateKey));
  const [connected, setConnected] = createSignal<ConnectedService>();
  return (
    <Switch fallback={<Loading />}>
      <Match when={connected()}>{(service) => <Connected service={service()} />}</Match>
      <Match when={template.data} keyed>
        {(data) => (
          <article
            class="rounded-2xl border border-t-4 border-line border-t-medium-band bg-surface shadow-sm"
            aria-labelledby="service-title"
          >
            <header class="px-4 pt-4 pb-5 sm:px-6">
              <A
                href="/services/new"
                class="text-sm font-medium text-ink-soft underline underline-offset-4 hover:text-ink"
              >
                Choose another service
              </A>
              <h1 id="service-title" class="mt-3 text-xl leading-snug font-semibold sm:text-2xl">
                Connect <VisibleText text={data.title} />
              </h1>
              <p class="mt-2 text-ink-soft">
                <VisibleText text={data.description} />
              </p>
            </header>
            <ConnectForm
              template={data}
              onConnected={setConnected}
              onChanged={() => void template.refetch()}
            />
          </article>
        )}
      </Match>
      <Match when={isApiError(template.error, 'not_found')}>
        <h1 class="pt-8 text-xl font-semibold">There is no such service in the catalogue</h1>
        <A href="/services/new" class="mt-4 inline-block font-medium underline underline-offset-4">
          Choose from all of them
        </A>
      </Match>
      <Match when={template.error}>
        {(error) => <ErrorNotice error={error()} onRetry={() => void template.refetch()} />}
      </Match>
    </Switch>
  );
}

function Chooser() {
  const templates = useQuery(() => templatesQuery());
  const [words, setWords] = createSignal('');
  const fieldId = createUniqueId();
  const found = createMemo(() => findTemplates(templates.data ?? [], words()));

  return (
    <>
      <A
        href="/services"
        class="inline-flex min-h-11 items-center gap-1 text-sm font-medium text-ink-soft hover:text-ink"
      >
        <Icon name="back" class="size-4" /> Services
      </A>
      <h1 class="mt-1 text-xl font-semibold sm:text-2xl">Connect a service</h1>
      <p class="mt-1 text-ink-soft">Your agents then act on it, as far as you let them.</p>
      <label for={fieldId} class="mt-5 block font-semibold">
        Which one?
      </label>
      <input
        id={fieldId}
        type="search"
        class={`mt-2 ${fieldLook}`}
        placeholder="Name, or what it is for"
        autocomplete="off"
        value={words()}
        onInput={(event) => setWords(event.currentTarget.value)}
      />
      <Switch fallback={<Loading />}>
        <Match when={templates.data}>
          <p class="mt-3 text-sm text-ink-soft" role="status">
            {describeFound(found())}
          </p>
          <ul class="mt-2 grid gap-2">
            <For each={found().templates}>
              {(template) => (
                <li>
                  <A
                    href={`/services/new?template=${encodeURIComponent(template.key)}`}
                    class="block rounded-lg border border-line bg-surface px-4 py-3 hover:bg-sunken"
                  >
                    <span class="font-semibold">
                      <VisibleText text={template.title} />
                    </span>{' '}
                    <span class="text-sm text-ink-soft">
                      <VisibleText text={template.category} />
                    </span>
                    <span class="block text-sm text-ink-soft">
                      <VisibleText text={template.description} />
                    </span>
                  </A>
                </li>
              )}
            </For>
          </ul>
        </Match>
        <Match when={templates.error}>
          {(error) => <ErrorNotice error={error()} onRetry={() => void templates.refetch()} />}
        </Match>
      </Switch>
    </>
  );
}

function Loading() {
  return (
    <p class="flex items-center gap-3 py-10 text-ink-soft" role="status">
      <Spinner /> Loading…
    </p>
  );
}

function describeFound({ templates, hasAllWords }: FoundTemplates): string {
  if (templates.length === 0) {
    return 'Nothing in the catalogue matches. An admin can import any API that has an OpenAPI document.';
  }
  const counted = templates.length === 1 ? '1 service' : `${templates.length} services`;
  return hasAllWords ? counted : `Nothing has all of these words. ${counted} with some of them:`;
}
