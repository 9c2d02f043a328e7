import { useMutation, useQuery, useQueryClient } from '@tanstack/solid-query';
import { For, Show, createSignal, createUniqueId, onMount } from 'solid-js';

import type { Connection } from '#contracts/http/connections';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { Chip } from '../../ui/chip.tsx';
import { HostList } from '../../ui/host-list.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { ActAfterQuestion } from '../../ui/question.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { oauthAppQuery, templateQuery } from '../connect/connect.queries.ts';
import { useMe } from '../session/session.tsx';
import { mayChange, serviceReferenceOf } from '../services/service-view.ts';
import { Badge } from '../services/state-badge.tsx';
import { accountStateOf, scopesInWords } from './credentials-view.ts';
import { deleteConnection, goToProvider, refreshConnection } from './credentials.queries.ts';
import { UsedBy } from './used-by.tsx';

/**
 * The card of one account at a provider: its access, its state, and buttons to renew and disconnect
 * it.
 */
export function AccountCard(props: {
  connection: Connection;
  usedBy: readonly string[];
  isUseKnown: boolean;
  isOpen: boolean;
}) {
  const me = useMe();
  const titleId = createUniqueId();
  const app = useQuery(() => oauthAppQuery(props.connection.provider));
  const isEnded = () => props.connection.status === 'revoked';
  let card: HTMLLIElement | undefined;
  onMount(() => {
    if (props.isOpen) card?.scrollIntoView({ block: 'center' });
  });
  return (
    <li
      ref={(element) => (card = element)}
      class="grid grid-cols-[minmax(0,1fr)] gap-3 rounded-xl border border-line bg-surface p-4 shadow-sm"
      classList={{
        'border-l-4 border-l-medium-band': accountStateOf(props.connection).tone === 'bad',
      }}
      aria-labelledby={titleId}
    >
      <div>
        <div class="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
          <h2 id={titleId} class="min-w-0 font-semibold wrap-anywhere">
            <VisibleText text={props.connection.account_label ?? props.connection.name} />
          </h2>
          <Badge state={accountStateOf(props.connection)} />
        </div>
        <p class="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-sm text-ink-soft">
          <Show when={!app.isPending}>
            <span>
              at <VisibleText text={app.data?.title ?? props.connection.provider} />
              {props.connection.acts_as === 'bot' ? ', as the app' : ''}
              <Show when={props.connection.account_value}>
                {(value) => (
                  <>
                    , for <VisibleText text={value().label ?? value().value} />
                  </>
                )}
              </Show>
            </span>
          </Show>
          <Chip>{props.connection.tier === 'org' ? 'Organisation' : 'Mine'}</Chip>
        </p>
        <Show when={props.connection.refused_at}>
          {(at) => (
            <p class="mt-2 text-sm font-medium text-medium">
              The provider refused it <TimeAgo at={at()} inSentence />. Connect it again if calls
              keep failing.
            </p>
          )}
        </Show>
        <Show when={props.connection.refresh_failing_since}>
          {(since) => (
            <p class="mt-2 text-sm font-medium text-medium">
              Refreshing its access fails, for the first time <TimeAgo at={since()} inSentence />.
              Connect it again if calls keep failing.
            </p>
          )}
        </Show>
      </div>
      <Show when={!isEnded()}>
        <div class="text-sm">
          <Show
            when={props.usedBy.length > 0}
            fallback={
              <p class="text-ink-soft">
                {props.isUseKnown ? 'No service uses it.' : 'Looking up what uses it…'}
              </p>
            }
          >
            <p class="text-ink-soft">Used by</p>
            <UsedBy references={props.usedBy} />
          </Show>
        </div>
        <Scopes connection={props.connection} />
      </Show>
      <Show when={mayChange(me(), props.connection.tier)}>
        <AccountActions {...props} />
      </Show>
      <details class="text-sm text-ink-soft">
        <summary class="min-h-6 font-medium">Details</summary>
        <p class="mt-1 wrap-anywhere">
          Connection <code class="font-mono">{serviceReferenceOf(props.connection)}</code>, provider{' '}
          <code class="font-mono">{props.connection.provider}</code>
        </p>
      </details>
    </li>
  );
}

/**
 * What the account may be used for, in words from the catalogue. The words are loaded when a person
 * opens this part.
 */
function Scopes(props: { connection: Connection }) {
  const [isOpen, setOpen] = createSignal(false);
  const template = useQuery(() => ({
    ...templateQuery(props.connection.template ?? ''),
    enabled: isOpen() && props.connection.template !== null,
  }));
  const scopes = () => scopesInWords(props.connection, template.data ?? null);
  return (
    <details class="text-sm" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary class="min-h-6 font-medium">
        What it may do
        {props.connection.granted_scopes.length === 0
          ? ''
          : ` (${props.connection.granted_scopes.length})`}
      </summary>
      <Show
        when={scopes().length > 0}
        fallback={<p class="mt-2 text-ink-soft">The provider does not say.</p>}
      >
        <ul class="mt-2 grid gap-1">
          <For each={scopes()}>
            {({ scope, words }) => (
              <li class="wrap-anywhere">
                <Show when={words}>{(text) => <VisibleText text={text()} />}</Show>{' '}
                <code class="font-mono text-ink-soft">
                  <VisibleText text={scope} />
                </code>
              </li>
            )}
          </For>
        </ul>
      </Show>
      <Show when={props.connection.reported_scopes}>
        {(reported) => (
          <p class="mt-2 text-ink-soft wrap-anywhere">
            The provider calls it <VisibleText text={reported().join(', ')} />
          </p>
        )}
      </Show>
      <p class="mt-2 text-ink-soft">It may be sent only to</p>
      <HostList hosts={props.connection.hosts} />
    </details>
  );
}

function AccountActions(props: {
  connection: Connection;
  usedBy: readonly string[];
  isUseKnown: boolean;
}) {
  const queryClient = useQueryClient();
  const renew = () => queryClient.invalidateQueries();
  const isEnded = () => props.connection.status === 'revoked';
  const goingToProvider = useMutation(() => ({
    mutationFn: () =>
      goToProvider({ connection: props.connection.id }, '/services/credentials?show=accounts'),
  }));
  const refreshing = useMutation(() => ({
    mutationFn: refreshConnection,
    onSuccess: () => announce('The access is refreshed'),
    onSettled: renew,
  }));
  const disconnecting = useMutation(() => ({
    mutationFn: deleteConnection,
    onSuccess: async () => {
      announce('Disconnected');
      await renew();
    },
  }));
  const connectWords = () =>
    props.connection.status === 'pending' ? 'Finish connecting' : 'Connect again';
  return (
    <>
      <Show when={goingToProvider.error ?? refreshing.error}>
        {(error) => <ErrorNotice error={error()} />}
      </Show>
      <Show when={refreshing.isSuccess}>
        <p class="text-sm text-ink-soft" role="status">
          The access was refreshed.
        </p>
      </Show>
      <div class="flex flex-wrap gap-2">
        <Button
          look={accountStateOf(props.connection).tone === 'bad' ? 'primary' : 'plain'}
          disabled={goingToProvider.isPending || goingToProvider.isSuccess}
          onClick={() => goingToProvider.mutate()}
        >
          {connectWords()}
        </Button>
        <Show when={props.connection.status === 'active'}>
          <Button
            disabled={refreshing.isPending}
            onClick={() => refreshing.mutate(props.connection.id)}
          >
            {refreshing.isPending ? 'Refreshing…' : 'Refresh now'}
          </Button>
        </Show>
        <Show when={!isEnded()}>
          <ActAfterQuestion
            label="Disconnect…"
            buttonClass="text-high!"
            question={
              <>
                Disconnect the account{' '}
                <VisibleText text={props.connection.account_label ?? props.connection.name} />?
              </>
            }
            consequences={
              <DisconnectConsequences usedBy={props.usedBy} isUseKnown={props.isUseKnown} />
            }
            yes="Yes, disconnect"
            isBusy={disconnecting.isPending}
            error={disconnecting.error}
            onYes={() => disconnecting.mutate(props.connection.id)}
          />
        </Show>
      </div>
    </>
  );
}

function DisconnectConsequences(props: { usedBy: readonly string[]; isUseKnown: boolean }) {
  return (
    <>
      <Show
        when={props.usedBy.length > 0}
        fallback={
          <p>
            {props.isUseKnown
              ? 'No connected service that you can see uses it.'
              : 'Which services use it is not known yet. They cannot be called any more.'}
          </p>
        }
      >
        <p>
          {props.usedBy.length === 1 ? 'This service' : `These ${props.usedBy.length} services`}{' '}
          cannot be called any more:
        </p>
        <UsedBy references={props.usedBy} />
      </Show>
      <p class="mt-2">
        Its access is erased here, and ended at the provider where that is possible.
      </p>
    </>
  );
}
