import { A } from '@solidjs/router';
import { useMutation, useQuery, useQueryClient } from '@tanstack/solid-query';
import { For, Show, createSignal } from 'solid-js';

import type { Identity } from '#contracts/http/identities';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { toAgentName } from '../agents/agent-view.ts';
import { createAgent, createKey } from '../agents/agents.queries.ts';
import { HowToConnect } from '../agents/how-to-connect.tsx';
import { useRefreshAgents } from '../agents/use-standing.ts';
import { openApprovalsQuery } from '../approvals/approvals.queries.ts';
import { secretsQuery, servicesQuery } from '../connect/connect.queries.ts';
import { playKeyName } from './first-steps.ts';
import { hasSampleQuery } from '../activity/sample-mark.tsx';
import { askAsAgent, connectSample } from './first-run.queries.ts';

const linkLook =
  'inline-flex min-h-11 items-center rounded-lg border border-line-strong bg-surface px-4 font-semibold hover:bg-sunken';

export function AgentStep() {
  const [name, setName] = createSignal('deploy-bot');
  const refresh = useRefreshAgents();
  const adding = useMutation(() => ({
    mutationFn: () => createAgent({ name: toAgentName(name()), auto_call_on_approve: true }),
    onSettled: refresh,
  }));
  return (
    <form
      class="grid gap-3"
      onSubmit={(event) => {
        event.preventDefault();
        if (!adding.isPending) adding.mutate();
      }}
    >
      <p class="text-ink-soft">
        An agent is a program that acts for you. It never sees your credentials, and everything it
        wants to change asks you first.
      </p>
      <TextField label="Its name" value={name()} onChange={setName} maxLength={63} isRequired />
      <Show when={adding.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <Button type="submit" look="primary" class="justify-self-start" disabled={adding.isPending}>
        {adding.isPending ? 'Adding…' : 'Add the agent'}
      </Button>
    </form>
  );
}

const firstTemplates = [
  { key: 'github', title: 'GitHub' },
  { key: 'slack', title: 'Slack' },
];

export function ServiceStep() {
  const queryClient = useQueryClient();
  const hasSample = useQuery(() => hasSampleQuery());
  const secrets = useQuery(() => secretsQuery());
  const connecting = useMutation(() => ({
    mutationFn: () => connectSample(secrets.data ?? []),
    onSettled: () =>
      Promise.all(
        [servicesQuery(), secretsQuery()].map(({ queryKey }) =>
          queryClient.invalidateQueries({ queryKey }),
        ),
      ),
  }));
  return (
    <div class="grid gap-3">
      <p class="text-ink-soft">
        A service is what agents call.
        <Show when={hasSample.data}>
          {' '}
          The notice board is a small one on this machine, to try things with.
        </Show>
      </p>
      <Show when={connecting.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <div class="flex flex-wrap gap-2">
        <Show when={hasSample.data}>
          <Button
            look="primary"
            disabled={connecting.isPending || secrets.data === undefined}
            onClick={() => connecting.mutate()}
          >
            {connecting.isPending ? 'Connecting…' : 'Notice board (sample)'}
          </Button>
        </Show>
        <For each={firstTemplates}>
          {({ key, title }) => (
            <A class={linkLook} href={`/services/new?template=${key}`}>
              {title}
            </A>
          )}
        </For>
        <A class={linkLook} href="/services/new">
          All services
        </A>
      </div>
    </div>
  );
}

/**
 * The key with which the page makes calls as the agent. It is kept only in the memory of the page,
 * so after a reload the page creates a new key.
 */
const [playKey, setPlayKey] = createSignal<{ readonly agentId: string; readonly key: string }>();

export function AskStep(props: { agent: Identity }) {
  const queryClient = useQueryClient();
  const services = useQuery(() => servicesQuery());
  const hasBoard = () => services.data?.some(({ name }) => name === 'sample') === true;
  const asking = useMutation(() => ({
    mutationFn: async () => {
      const { id, name } = props.agent;
      const known = playKey();
      let key = known?.agentId === id ? known.key : undefined;
      if (key === undefined) {
        ({ key } = await createKey({ id, name: playKeyName }));
        setPlayKey({ agentId: id, key });
      }
      return askAsAgent({ key, text: `Hello from ${name}` });
    },
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['approvals'] }),
  }));
  return (
    <Show
      when={hasBoard()}
      fallback={
        <p class="text-ink-soft">
          Nothing was asked for yet. Have your agent call something that changes something: it waits
          for you under Approvals.
        </p>
      }
    >
      <div class="grid gap-3">
        <p class="text-ink-soft">
          This page now plays <VisibleText text={props.agent.name} />: it makes a key for it and
          asks to pin a note to the board, exactly as your agent would.
        </p>
        <Show when={asking.error}>{(error) => <ErrorNotice error={error()} />}</Show>
        <Button
          look="primary"
          class="justify-self-start"
          disabled={asking.isPending}
          onClick={() => asking.mutate()}
        >
          {asking.isPending ? (
            'Asking…'
          ) : (
            <>
              Ask as <VisibleText text={props.agent.name} />
            </>
          )}
        </Button>
      </div>
    </Show>
  );
}

export function DecideStep() {
  const open = useQuery(() => openApprovalsQuery());
  const first = () => open.data?.items[0];
  return (
    <Show
      when={first()}
      fallback={
        <p class="text-ink-soft">
          Nothing waits any more. When an agent asks again, decide it here.
        </p>
      }
    >
      {(approval) => (
        <div class="grid gap-3">
          <p class="text-ink-soft">
            The call waits for you. Look at what would be sent, allow or deny it, and come back here
            for the last step.
          </p>
          <A
            class="inline-flex min-h-11 items-center justify-self-start rounded-lg bg-accent px-4 py-2 font-semibold text-on-accent hover:bg-accent-hover"
            href={`/approvals/${approval().id}`}
          >
            Look at it
          </A>
          <Show when={approval().template === 'sample'}>
            <p class="text-sm text-ink-soft">
              What is pinned appears at{' '}
              <A class="underline underline-offset-4" href="/sample">
                the notice board
              </A>
              .
            </p>
          </Show>
        </div>
      )}
    </Show>
  );
}

export function ClientStep(props: { agent: Identity }) {
  const refresh = useRefreshAgents();
  const making = useMutation(() => ({
    mutationFn: () => createKey({ id: props.agent.id, name: 'my client' }),
    onSettled: refresh,
  }));
  return (
    <Show
      when={making.data}
      fallback={
        <div class="grid gap-3">
          <p class="text-ink-soft">
            Give the program in which your agent runs a key of{' '}
            <VisibleText text={props.agent.name} />. An MCP client can also sign in by itself at{' '}
            <code class="font-mono wrap-anywhere">{location.origin}/mcp</code>.
          </p>
          <Show when={making.error}>{(error) => <ErrorNotice error={error()} />}</Show>
          <Button
            look="primary"
            class="justify-self-start"
            disabled={making.isPending}
            onClick={() => making.mutate()}
          >
            {making.isPending ? 'Making…' : 'Make a key'}
          </Button>
        </div>
      }
    >
      {(key) => (
        <div class="grid gap-4">
          <ShownOnce title="This is the key of your client" label="Agent key" text={key().key} />
          <HowToConnect agentKey={key().key} />
          <p class="text-sm text-ink-soft" role="status">
            This step is done as soon as your client has made its first request.
          </p>
        </div>
      )}
    </Show>
  );
}
