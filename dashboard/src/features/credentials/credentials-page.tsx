import { A, useSearchParams } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { Match, Show, Switch, createMemo, createSignal } from 'solid-js';
import type { JSX } from 'solid-js';

import { usePollEveryMs } from '../../api/live.tsx';
import { Button, ButtonLink } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { TabLinks } from '../../ui/tab-links.tsx';
import { useTitle } from '../../ui/title.ts';
import { connectionsQuery, secretsQuery, servicesQuery } from '../connect/connect.queries.ts';
import { useMe } from '../session/session.tsx';
import { KeyedList } from '../../ui/keyed-list.tsx';
import { Loading } from '../services/parts.tsx';
import { serviceReferenceOf } from '../services/service-view.ts';
import { AccountCard } from './account-card.tsx';
import { sortAccounts, sortSecrets, usersOf } from './credentials-view.ts';
import { NewSecret } from './new-secret.tsx';
import { SecretCard } from './secret-card.tsx';

/** The page with the secrets and accounts that services use. */
export function CredentialsPage() {
  const [search] = useSearchParams<{ show?: string; open?: string }>();
  const showsAccounts = () => search.show === 'accounts';
  useTitle(() => (showsAccounts() ? 'Accounts' : 'Secrets'));
  return (
    <main id="content" class="mx-auto max-w-3xl px-3 py-4 sm:px-6 sm:py-8">
      <A
        href="/services"
        class="inline-flex min-h-11 items-center gap-1 text-sm font-medium text-ink-soft hover:text-ink"
      >
        <Icon name="back" class="size-4" /> Services
      </A>
      <h1 class="mt-1 text-xl font-semibold sm:text-2xl">Credentials</h1>
      <p class="mt-1 text-ink-soft">
        Services are called with them. No agent and no page ever shows a value.
      </p>
      <TabLinks
        label="Which credentials"
        tabs={[
          { href: '/services/credentials', text: 'Secrets', isCurrent: !showsAccounts() },
          {
            href: '/services/credentials?show=accounts',
            text: 'Accounts',
            isCurrent: showsAccounts(),
          },
        ]}
      />
      <Show when={showsAccounts()} fallback={<Secrets open={search.open} />}>
        <Accounts open={search.open} />
      </Show>
    </main>
  );
}

function Secrets(props: { open: string | undefined }) {
  const me = useMe();
  const pollEveryMs = usePollEveryMs();
  const secrets = useQuery(() => ({ ...secretsQuery(), refetchInterval: pollEveryMs() }));
  const sorted = createMemo(() => sortSecrets(secrets.data ?? []));
  const [isAdding, setAdding] = createSignal(false);
  const [stored, setStored] = createSignal<string>();
  let addButton: HTMLButtonElement | undefined;
  const close = () => {
    setAdding(false);
    addButton?.focus();
  };
  return (
    <Switch fallback={<Loading />}>
      <Match when={secrets.data}>
        <Show when={me().role !== 'auditor'}>
          <Show
            when={isAdding()}
            fallback={
              <Button
                ref={(element) => (addButton = element)}
                class="mb-4"
                onClick={() => {
                  setStored(undefined);
                  setAdding(true);
                }}
              >
                Add a secret
              </Button>
            }
          >
            <NewSecret
              secrets={secrets.data ?? []}
              onStored={(secret) => {
                setStored(serviceReferenceOf(secret));
                close();
              }}
              onCancel={close}
            />
          </Show>
        </Show>
        <Show when={stored()}>
          {(reference) => (
            <div class="mb-4">
              <Notice tone="good" role="status">
                <code class="font-mono wrap-anywhere">{reference()}</code> is stored. Nobody can see
                its value from now on.
              </Notice>
            </div>
          )}
        </Show>
        <Show
          when={sorted().length > 0}
          fallback={
            <Show when={!isAdding()}>
              <Nothing title="No secret is stored yet">
                API keys and tokens that you enter when you connect a service are kept here.
              </Nothing>
            </Show>
          }
        >
          <ul class="grid grid-cols-[minmax(0,1fr)] gap-3" aria-label="Secrets">
            <KeyedList items={sorted()} keyOf={({ id }) => id}>
              {(secret) => (
                <SecretCard
                  secret={secret()}
                  isOpen={serviceReferenceOf(secret()) === props.open}
                />
              )}
            </KeyedList>
          </ul>
        </Show>
      </Match>
      <Match when={secrets.error}>
        {(error) => <ErrorNotice error={error()} onRetry={() => void secrets.refetch()} />}
      </Match>
    </Switch>
  );
}

function Accounts(props: { open: string | undefined }) {
  const pollEveryMs = usePollEveryMs();
  const connections = useQuery(() => ({ ...connectionsQuery(), refetchInterval: pollEveryMs() }));
  const services = useQuery(() => servicesQuery());
  const sorted = createMemo(() => sortAccounts(connections.data ?? []));
  return (
    <Switch fallback={<Loading />}>
      <Match when={connections.data?.length === 0}>
        <Nothing title="No account is connected yet">
          When you connect a service by signing in there, the account appears here.
        </Nothing>
      </Match>
      <Match when={connections.data}>
        <ul class="grid grid-cols-[minmax(0,1fr)] gap-3" aria-label="Accounts">
          <KeyedList items={sorted()} keyOf={({ id }) => id}>
            {(connection) => (
              <AccountCard
                connection={connection()}
                usedBy={usersOf(connection(), services.data ?? [])}
                isUseKnown={services.data !== undefined}
                isOpen={serviceReferenceOf(connection()) === props.open}
              />
            )}
          </KeyedList>
        </ul>
      </Match>
      <Match when={connections.error}>
        {(error) => <ErrorNotice error={error()} onRetry={() => void connections.refetch()} />}
      </Match>
    </Switch>
  );
}

function Nothing(props: { title: string; children: JSX.Element }) {
  const me = useMe();
  return (
    <section class="rounded-2xl border border-line bg-surface p-6 text-center">
      <h2 class="text-lg font-semibold">{props.title}</h2>
      <p class="mt-1 text-ink-soft">{props.children}</p>
      <Show when={me().role !== 'auditor'}>
        <ButtonLink look="primary" class="mt-5" rel="" href="/services/new">
          Connect a service
        </ButtonLink>
      </Show>
    </section>
  );
}
