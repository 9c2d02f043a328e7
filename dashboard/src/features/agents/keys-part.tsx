import { useMutation, useQuery } from '@tanstack/solid-query';
import { For, Show, createSignal, createUniqueId } from 'solid-js';

import type { CreatedAgentKey, Identity, PublicAgentKey } from '#contracts/http/identities';
import { serverNowMs } from '../../api/server-clock.ts';
import { announce } from '../../ui/announcer.tsx';
import { Button } from '../../ui/button.tsx';
import { TextField, fieldLook } from '../../ui/field.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ActAfterQuestion } from '../../ui/question.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { askAgainMs, createKey, keysQuery, revokeKey } from './agents.queries.ts';
import { HowToConnect } from './how-to-connect.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Nothing } from '../../ui/nothing.tsx';
import { useRefreshAgents } from './use-standing.ts';

/** The list of an agent's keys, with the buttons to create and revoke keys. */
export function KeysPart(props: {
  identity: Identity;
  canChange: boolean;
  /** Whether the agent, or an identity above it, is paused. Then no key can be created. */
  isPaused: boolean;
}) {
  const keys = useQuery(() => ({
    ...keysQuery(props.identity.id),
    refetchInterval: askAgainMs,
  }));
  const [isCreating, setCreating] = createSignal(false);
  const [created, setCreated] = createSignal<CreatedAgentKey>();
  let createButton: HTMLButtonElement | undefined;
  const keyOf = (id: string) => keys.data?.items.find((key) => key.id === id);

  return (
    <Panel
      title="Keys"
      act={
        <Show when={props.canChange && !props.isPaused && !isCreating() && created() === undefined}>
          <Button ref={(element) => (createButton = element)} onClick={() => setCreating(true)}>
            Create a key
          </Button>
        </Show>
      }
    >
      <Show when={props.canChange && props.isPaused}>
        <p class="mb-3 text-sm text-ink-soft">A key can be created once the agent is resumed.</p>
      </Show>
      <Show when={isCreating() && !props.isPaused}>
        <CreateKey
          id={props.identity.id}
          onCreated={(key) => {
            setCreating(false);
            setCreated(key);
          }}
          onClose={() => {
            setCreating(false);
            createButton?.focus();
          }}
        />
      </Show>
      <Show when={created()}>
        {(key) => (
          <div class="mb-5 grid grid-cols-[minmax(0,1fr)] gap-4">
            <ShownOnce
              title={
                <>
                  This is the key <VisibleText text={key().name} />
                </>
              }
              label="Agent key"
              text={key().key}
              onDone={() => {
                setCreated(undefined);
                createButton?.focus();
              }}
            />
            <HowToConnect agentKey={key().key} />
          </div>
        )}
      </Show>
      <Loaded query={keys}>
        {(list) => (
          <Show
            when={list().items.length > 0}
            fallback={<Nothing>No key: nothing can sign in as this agent by a key.</Nothing>}
          >
            <ul class="divide-y divide-line">
              <For each={list().items.map(({ id }) => id)}>
                {(id) => (
                  <Show when={keyOf(id)}>
                    {(key) => (
                      <li class="py-3 first:pt-0 last:pb-0">
                        <KeyItem agentKey={key()} canChange={props.canChange} />
                      </li>
                    )}
                  </Show>
                )}
              </For>
            </ul>
          </Show>
        )}
      </Loaded>
    </Panel>
  );
}

function KeyItem(props: { agentKey: PublicAgentKey; canChange: boolean }) {
  const refresh = useRefreshAgents();
  const revoking = useMutation(() => ({
    mutationFn: revokeKey,
    onSuccess: () => announce(`The key ${props.agentKey.name} is revoked`),
    onSettled: refresh,
  }));
  return (
    <div class="flex flex-wrap items-center gap-x-3 gap-y-2">
      <Icon name="key" class="size-5 shrink-0 text-ink-soft max-sm:hidden" />
      <div class="min-w-0 grow basis-48">
        <p class="font-medium wrap-anywhere">
          <VisibleText text={props.agentKey.name} />{' '}
          <code class="font-mono text-sm font-normal text-ink-soft">{props.agentKey.hint}…</code>
        </p>
        <p class="text-sm text-ink-soft">
          <Show when={props.agentKey.last_used_at} fallback="Not used yet">
            {(at) => (
              <>
                Used <TimeAgo at={at()} />
              </>
            )}
          </Show>
          {' · made '}
          <TimeAgo at={props.agentKey.created_at} />
          <Show when={props.agentKey.expires_at}>
            {(at) => (
              <>
                {' · '}
                {Date.parse(at()) <= serverNowMs() ? 'ended on' : 'ends on'}{' '}
                {new Date(at()).toLocaleDateString()}
              </>
            )}
          </Show>
        </p>
      </div>
      <Show when={props.canChange}>
        <ActAfterQuestion
          label="Revoke"
          accessibleLabel={`Revoke the key ${props.agentKey.name}`}
          question={
            <>
              Revoke the key <VisibleText text={props.agentKey.name} />?
            </>
          }
          consequences={
            <>
              Whatever uses it is refused at once, and it never works again.
              <Show when={props.agentKey.last_used_at}>
                {(at) => (
                  <>
                    {' '}
                    It was used <TimeAgo at={at()} inSentence />.
                  </>
                )}
              </Show>
            </>
          }
          yes="Yes, revoke it"
          isBusy={revoking.isPending}
          error={revoking.error}
          onYes={() =>
            revoking.mutate({ id: props.agentKey.identity_id, keyId: props.agentKey.id })
          }
        />
      </Show>
    </div>
  );
}

const lifetimes = [
  { days: 0, text: 'until it is revoked' },
  { days: 7, text: '7 days' },
  { days: 30, text: '30 days' },
  { days: 90, text: '90 days' },
  { days: 365, text: 'a year' },
] as const;
const dayMs = 24 * 60 * 60 * 1000;

function CreateKey(props: {
  id: string;
  onCreated: (key: CreatedAgentKey) => void;
  onClose: () => void;
}) {
  const [name, setName] = createSignal('');
  const [days, setDays] = createSignal(0);
  const selectId = createUniqueId();
  const refresh = useRefreshAgents();
  const creating = useMutation(() => ({
    mutationFn: createKey,
    onSuccess: (key: CreatedAgentKey) => props.onCreated(key),
    onSettled: refresh,
  }));
  const create = () => {
    const expiresAt = new Date(serverNowMs() + days() * dayMs).toISOString();
    creating.mutate({
      id: props.id,
      name: name().trim(),
      ...(days() > 0 && { expires_at: expiresAt }),
    });
  };
  return (
    <form
      class="mb-5 grid gap-4 rounded-lg border border-line p-4"
      onSubmit={(event) => {
        event.preventDefault();
        if (!creating.isPending) create();
      }}
    >
      <TextField
        label="Name of the key"
        hint="Where it is used, so that you know later which one to revoke."
        placeholder="laptop"
        value={name()}
        onChange={setName}
        maxLength={100}
        isRequired
        hasFocus
      />
      <div>
        <label for={selectId} class="font-semibold">
          Works
        </label>
        <select
          id={selectId}
          class={`mt-2 ${fieldLook}`}
          onChange={(event) => setDays(Number(event.currentTarget.value))}
        >
          <For each={lifetimes}>
            {(lifetime) => <option value={lifetime.days}>{lifetime.text}</option>}
          </For>
        </select>
      </div>
      <Show when={creating.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <div class="flex flex-wrap gap-2">
        <Button type="submit" look="primary" disabled={creating.isPending}>
          {creating.isPending ? 'Creating…' : 'Create the key'}
        </Button>
        <Button onClick={() => props.onClose()}>Cancel</Button>
      </div>
    </form>
  );
}
