import { useMutation, useQuery, useQueryClient } from '@tanstack/solid-query';
import { Match, Show, Switch, createSignal, createUniqueId, onMount } from 'solid-js';

import type { SecretDetail } from '#contracts/http/secrets';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { Chip } from '../../ui/chip.tsx';
import { HostList } from '../../ui/host-list.tsx';
import { Question } from '../../ui/question.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { isRefused } from '../connect/connect-view.ts';
import { secretsQuery } from '../connect/connect.queries.ts';
import { useMe } from '../session/session.tsx';
import { mayChange, serviceReferenceOf } from '../services/service-view.ts';
import { Badge } from '../services/state-badge.tsx';
import { describeSecretUses, findSubstitute } from './credentials-view.ts';
import { deleteSecret } from './credentials.queries.ts';
import { EnterSecret } from './enter-secret.tsx';
import { SecretSettings } from './secret-settings.tsx';
import { SecretVersions } from './secret-versions.tsx';
import { UsedBy } from './used-by.tsx';

type FormName = 'value' | 'settings' | 'versions' | 'delete';

/**
 * The card of one secret: its hosts, the services that use it, and what its owner can do with it.
 */
export function SecretCard(props: { secret: SecretDetail; isOpen: boolean }) {
  const me = useMe();
  const titleId = createUniqueId();
  const isMine = () => mayChange(me(), props.secret.tier);
  let card: HTMLLIElement | undefined;
  onMount(() => {
    if (props.isOpen) card?.scrollIntoView({ block: 'center' });
  });
  return (
    <li
      ref={(element) => (card = element)}
      class="grid grid-cols-[minmax(0,1fr)] gap-3 rounded-xl border border-line bg-surface p-4 shadow-sm"
      classList={{ 'border-l-4 border-l-medium-band': isRefused(props.secret) }}
      aria-labelledby={titleId}
    >
      <div>
        <div class="flex flex-wrap items-center justify-between gap-x-3 gap-y-1">
          <h2 id={titleId} class="min-w-0 font-mono font-semibold wrap-anywhere">
            {serviceReferenceOf(props.secret)}
          </h2>
          <Show when={isRefused(props.secret)}>
            <Badge state={{ tone: 'bad', words: 'Refused' }} />
          </Show>
        </div>
        <p class="mt-1 flex flex-wrap items-center gap-x-2 gap-y-1 text-sm text-ink-soft">
          <span>
            Version {props.secret.current_version}, entered <TimeAgo at={props.secret.updated_at} />
          </span>
          <Chip>{props.secret.tier === 'org' ? 'Organisation' : 'Mine'}</Chip>
        </p>
        <Show when={props.secret.description}>
          {(description) => (
            <p class="mt-1">
              <VisibleText text={description()} />
            </p>
          )}
        </Show>
        <Show when={props.secret.refused_at}>
          {(at) => (
            <p class="mt-2 text-sm font-medium text-medium">
              The provider refused this value <TimeAgo at={at()} inSentence />
              {isMine() ? '. Enter a new one.' : '. An admin can enter a new one.'}
            </p>
          )}
        </Show>
      </div>
      <div class="grid gap-3 text-sm sm:grid-cols-2">
        <div>
          <p class="text-ink-soft">May be sent only to</p>
          <Show
            when={props.secret.allowed_hosts.length > 0}
            fallback={<p>No host: each use asks for permission.</p>}
          >
            <HostList hosts={props.secret.allowed_hosts} />
          </Show>
        </div>
        <div>
          <p class="text-ink-soft">Used by</p>
          <Show when={props.secret.used_by.length > 0} fallback={<p>No service</p>}>
            <UsedBy references={props.secret.used_by.map(({ name }) => name)} />
          </Show>
        </div>
      </div>
      <Show when={isMine()}>
        <SecretActions secret={props.secret} firstAct={props.isOpen ? 'value' : undefined} />
      </Show>
    </li>
  );
}

function SecretActions(props: { secret: SecretDetail; firstAct: FormName | undefined }) {
  const queryClient = useQueryClient();
  // oxlint-disable-next-line solid/reactivity -- a link opens the form once, when the page is opened
  const [openForm, setOpenForm] = createSignal<FormName | undefined>(props.firstAct);
  const [isStored, setStored] = createSignal(false);
  // The button that opened a form gets the focus back when the form closes.
  let closedForm: FormName | undefined;
  const close = () =>
    setOpenForm((open) => {
      closedForm = open;
      return undefined;
    });
  const focusIfClosed = (opener: FormName) => (button: HTMLButtonElement) =>
    onMount(() => {
      if (closedForm === opener) button.focus();
    });
  const secrets = useQuery(() => secretsQuery());
  const substitute = () => findSubstitute(props.secret, secrets.data ?? []);
  const renew = () => queryClient.invalidateQueries();
  const deleting = useMutation(() => ({
    mutationFn: deleteSecret,
    onSuccess: async () => {
      announce('The secret is deleted');
      await renew();
    },
  }));
  return (
    <Switch
      fallback={
        <>
          <Show when={isStored()}>
            <p class="text-sm font-medium text-accent" role="status">
              The new value is stored, as version {props.secret.current_version}.
            </p>
          </Show>
          <div class="flex flex-wrap gap-2">
            <Button
              look={isRefused(props.secret) ? 'primary' : 'plain'}
              ref={focusIfClosed('value')}
              onClick={() => setOpenForm('value')}
            >
              Enter a new value
            </Button>
            <Button ref={focusIfClosed('settings')} onClick={() => setOpenForm('settings')}>
              Hosts and description
            </Button>
            <Button ref={focusIfClosed('versions')} onClick={() => setOpenForm('versions')}>
              Versions
            </Button>
            <Button
              ref={focusIfClosed('delete')}
              class="text-high!"
              onClick={() => setOpenForm('delete')}
            >
              Delete…
            </Button>
          </div>
        </>
      }
    >
      <Match when={openForm() === 'value'}>
        <EnterSecret
          reference={serviceReferenceOf(props.secret)}
          onStored={() => {
            void renew().then(() => {
              setStored(true);
              close();
            });
          }}
          onCancel={close}
        />
      </Match>
      <Match when={openForm() === 'settings'}>
        <SecretSettings secret={props.secret} onDone={close} />
      </Match>
      <Match when={openForm() === 'versions'}>
        <SecretVersions secret={props.secret} onDone={close} />
      </Match>
      <Match when={openForm() === 'delete'}>
        <Question
          question={
            <>
              Delete <code class="font-mono">{serviceReferenceOf(props.secret)}</code> with all its
              versions?
            </>
          }
          consequences={
            <>
              <p>{describeSecretUses(props.secret)}</p>
              <UsedBy references={props.secret.used_by.map(({ name }) => name)} />
              <Show when={substitute()}>
                {(reference) => (
                  <p class="mt-2">
                    Where <code class="font-mono">{reference()}</code> may be sent to the same host,
                    calls go on with it: it is the organisation’s secret of this name.
                  </p>
                )}
              </Show>
              <p class="mt-2">Nobody can bring the value back.</p>
            </>
          }
          yes="Yes, delete"
          isBusy={deleting.isPending}
          error={deleting.error}
          onYes={() => deleting.mutate(props.secret.id)}
          onBack={() => {
            deleting.reset();
            close();
          }}
        />
      </Match>
    </Switch>
  );
}
