import { A } from '@solidjs/router';
import { useMutation } from '@tanstack/solid-query';
import { Show, createSignal } from 'solid-js';

import type { CreatedAgentKey, Identity } from '#contracts/http/identities';
import { Button } from '../../ui/button.tsx';
import { TextField } from '../../ui/field.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ShownOnce } from '../../ui/shown-once.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { toAgentName } from './agent-view.ts';
import { createAgent, createKey } from './agents.queries.ts';
import { CheckBox } from '../../ui/check-box.tsx';
import { HowToConnect } from './how-to-connect.tsx';
import { useRefreshAgents } from './use-standing.ts';

interface AddedAgent {
  readonly agent: Identity;
  /** Null if the agent was created but its key was not. */
  readonly key: CreatedAgentKey | null;
}

/** The form for a new agent and its first key. Afterwards it shows the key and how to use it. */
export function AddAgent(props: { onClose: () => void }) {
  const [name, setName] = createSignal('');
  const [callsByItself, setCallsByItself] = createSignal(true);
  const refresh = useRefreshAgents();
  const adding = useMutation(() => ({
    mutationFn: async (): Promise<AddedAgent> => {
      const agentName = toAgentName(name());
      const agent = await createAgent({ name: agentName, auto_call_on_approve: callsByItself() });
      const key = await createKey({ id: agent.id, name: 'first key' }).catch(() => null);
      return { agent, key };
    },
    onSettled: refresh,
  }));

  return (
    <Show
      when={adding.data}
      fallback={
        <Panel title="Add an agent">
          <form
            class="grid gap-5"
            onSubmit={(event) => {
              event.preventDefault();
              if (!adding.isPending) adding.mutate();
            }}
          >
            <TextField
              label="Name"
              hint={
                <>
                  What you call it on approvals: small letters, digits, - and _.
                  <Show when={toAgentName(name()) !== name() && toAgentName(name()) !== ''}>
                    {' '}
                    It will be <code class="font-mono">{toAgentName(name())}</code>.
                  </Show>
                </>
              }
              placeholder="deploy-bot"
              value={name()}
              onChange={setName}
              maxLength={63}
              isRequired
              hasFocus
            />
            <CheckBox
              isChecked={callsByItself()}
              onChange={setCallsByItself}
              label="Run calls as soon as they are allowed"
              hint="Otherwise an allowed call waits until the agent asks for it again."
            />
            <Show when={adding.error}>{(error) => <ErrorNotice error={error()} />}</Show>
            <div class="flex flex-wrap gap-2">
              <Button type="submit" look="primary" disabled={adding.isPending}>
                {adding.isPending ? 'Adding…' : 'Add the agent'}
              </Button>
              <Button onClick={() => props.onClose()}>Cancel</Button>
            </div>
          </form>
        </Panel>
      }
    >
      {(added) => <CreatedAgentPart added={added()} onClose={() => props.onClose()} />}
    </Show>
  );
}

function CreatedAgentPart(props: { added: AddedAgent; onClose: () => void }) {
  return (
    <Panel
      title={
        <>
          <VisibleText text={props.added.agent.name} /> is ready
        </>
      }
    >
      <div class="grid grid-cols-[minmax(0,1fr)] gap-5">
        <Show
          when={props.added.key}
          fallback={
            <Notice tone="warning" role="alert">
              The agent was added, but its key could not be made. Open the agent and create one
              there.
            </Notice>
          }
        >
          {(key) => (
            <>
              <ShownOnce title="This is the key of the agent" label="Agent key" text={key().key} />
              <HowToConnect agentKey={key().key} />
              <p class="text-sm text-ink-soft">
                Everything that it wants to change asks you first, under Approvals.
              </p>
            </>
          )}
        </Show>
        <div class="flex flex-wrap gap-2">
          <A
            href={`/agents/${props.added.agent.id}`}
            class="inline-flex min-h-11 items-center rounded-lg bg-accent px-4 font-semibold text-on-accent hover:bg-accent-hover"
          >
            Open the agent
          </A>
          <Button onClick={() => props.onClose()}>Done</Button>
        </div>
      </div>
    </Panel>
  );
}
