import { useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createUniqueId } from 'solid-js';

import { Button } from '../../ui/button.tsx';
import { RadioBox } from '../../ui/field.tsx';
import { HostList } from '../../ui/host-list.tsx';
import { Spinner } from '../../ui/icon.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { rulesOnNameQuery, servicesQuery } from './connect.queries.ts';
import { referenceOf } from './connect-view.ts';
import type { ConnectFormProps, FormProps } from './form-props.ts';
import { NameField } from './name-field.tsx';
import { useConnect } from './use-connect.ts';
import { useOwned } from './use-owned.ts';
import { WayFields } from './way-fields.tsx';
import { WhatItCanDo } from './what-it-can-do.tsx';

/** Loads the person's existing credentials and services, and then shows the form. */
export function ConnectForm(props: ConnectFormProps) {
  const owned = useOwned(props);
  const services = useQuery(() => servicesQuery());
  const rules = useQuery(() =>
    rulesOnNameQuery(
      referenceOf(props.request?.name ?? props.template.key, props.request?.tier ?? 'user'),
    ),
  );
  const failure = () => owned.failure() ?? services.error ?? rules.error;
  const retry = () => {
    owned.retry();
    for (const query of [services, rules]) if (query.isError) void query.refetch();
  };

  return (
    <Switch
      fallback={
        <p class="flex items-center gap-3 px-4 py-10 text-ink-soft sm:px-6" role="status">
          <Spinner /> Loading…
        </p>
      }
    >
      <Match when={owned.isLoaded() && services.data !== undefined && rules.data !== undefined}>
        <Form
          {...props}
          {...owned.data()}
          services={services.data ?? []}
          rules={rules.data ?? []}
        />
      </Match>
      <Match when={failure()}>
        {(error) => (
          <div class="px-4 py-5 sm:px-6">
            <ErrorNotice error={error()} onRetry={retry} />
          </div>
        )}
      </Match>
    </Switch>
  );
}

function Form(props: FormProps) {
  const form = useConnect(props);
  const tierGroupId = createUniqueId();

  return (
    <form
      autocomplete="off"
      aria-busy={form.isBusy()}
      onSubmit={(event) => {
        event.preventDefault();
        if (!form.isBusy() && !form.lacksApp()) form.connecting.mutate();
      }}
    >
      <Show when={form.isBackInVain()}>
        <div class="px-4 pb-5 sm:px-6">
          <Notice tone="warning" role="status">
            No account was connected: {form.providerTitle()} did not say yes. You can try again, or
            choose another account or way.
          </Notice>
        </div>
      </Show>
      <For each={props.app?.warnings ?? []}>
        {(warning) => (
          <div class="px-4 pb-5 sm:px-6">
            <Notice tone="warning" role="status">
              <VisibleText text={warning.message} />
            </Notice>
          </div>
        )}
      </For>
      <Show when={form.isChanged()}>
        <div class="px-4 pb-5 sm:px-6">
          <Notice tone="warning" role="status">
            This service was changed meanwhile. Look at it again before you connect it.
          </Notice>
        </div>
      </Show>
      <div class="px-4 pb-5 sm:px-6">
        <Hosts hosts={form.hosts()} requestedHosts={props.request?.hosts ?? null} />
      </div>
      <WhatItCanDo
        template={form.template}
        requestedActions={props.request?.actions ?? []}
        readsAtOnce={form.readsAtOnce()}
        onReadsAtOnce={form.setReadsAtOnce}
      />
      <section class="grid gap-5 border-t border-line px-4 py-5 sm:px-6">
        <WayFields form={form} app={props.app} reason={props.request?.reason ?? null} />
        <Show when={!form.lacksApp()}>
          <NameField form={form} services={props.services} />
          <Show
            when={form.isAdmin && props.request === undefined}
            fallback={
              <p class="text-sm text-ink-soft">
                {form.tier() === 'org'
                  ? 'For everybody in the organisation, and their agents.'
                  : 'For you and your agents only.'}
              </p>
            }
          >
            <fieldset class="grid gap-2 sm:grid-cols-2">
              <legend class="mb-2 font-semibold">For whom</legend>
              <RadioBox
                name={tierGroupId}
                isChecked={form.tier() === 'user'}
                onChoose={() => form.setTier('user')}
                label="For me"
                hint="You and your agents."
              />
              <RadioBox
                name={tierGroupId}
                isChecked={form.tier() === 'org'}
                onChoose={() => form.setTier('org')}
                label="For the organisation"
                hint="Everybody in it, and their agents."
              />
            </fieldset>
          </Show>
        </Show>
        <Show when={form.connecting.error}>
          {(error) => (
            <Show when={form.isStale()} fallback={<ErrorNotice error={error()} />}>
              <Notice tone="bad" role="alert">
                <p class="font-medium">
                  This service was changed while you looked at it, so nothing was connected.
                </p>
                <Button class="mt-3" onClick={() => form.lookAgain()}>
                  Show it as it is now
                </Button>
              </Notice>
            </Show>
          )}
        </Show>
        <Show when={!form.lacksApp()}>
          <Button type="submit" look="primary" class="w-full" disabled={form.isBusy()}>
            {form.isBusy()
              ? form.leaves()
                ? `Going to ${form.providerTitle()}…`
                : 'Connecting…'
              : form.leaves()
                ? `Continue to ${form.providerTitle()}`
                : 'Connect'}
          </Button>
        </Show>
        {props.decline}
      </section>
    </form>
  );
}

/** Shows the hosts of the service, and marks those that were added after the request was made. */
function Hosts(props: { hosts: readonly string[]; requestedHosts: readonly string[] | null }) {
  const newHosts = () =>
    props.hosts.filter((host) => props.requestedHosts?.includes(host) === false);
  return (
    <Show
      when={props.hosts.length > 0}
      fallback={
        <p class="text-sm text-ink-soft">Calls go to your own address, which you enter below.</p>
      }
    >
      <div class="text-sm text-ink-soft">
        Calls go to
        <HostList hosts={props.hosts} />
      </div>
      <Show when={(props.requestedHosts?.length ?? 0) > 0 && newHosts().length > 0}>
        <div class="mt-3">
          <Notice tone="warning">
            When it was asked for, calls went to
            <HostList hosts={props.requestedHosts ?? []} />
          </Notice>
        </div>
      </Show>
    </Show>
  );
}
