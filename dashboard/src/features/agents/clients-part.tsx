import { useMutation, useQuery } from '@tanstack/solid-query';
import { For, Show } from 'solid-js';

import type { Identity } from '#contracts/http/identities';
import type { McpConnection } from '#contracts/http/oauth-clients';
import { announce } from '../../ui/announcer.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ActAfterQuestion } from '../../ui/question.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { clientsQuery, partClient, switchSelfApproval } from './agents.queries.ts';
import { CheckBox } from '../../ui/check-box.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Nothing } from '../../ui/nothing.tsx';
import { useRefreshAgents } from './use-standing.ts';

/** The programs that signed in through the browser and act as this agent. */
export function ClientsPart(props: { identity: Identity; canChange: boolean }) {
  const clients = useQuery(() => clientsQuery(props.identity.id));
  const clientOf = (id: string) => clients.data?.items.find(({ client_id }) => client_id === id);
  return (
    <Panel title="Connected programs">
      <Loaded query={clients}>
        {(list) => (
          <Show
            when={list().items.length > 0}
            fallback={
              <Nothing>
                None. A program that signs in by itself at{' '}
                <code class="font-mono wrap-anywhere">{location.origin}/mcp</code> and is let in as
                this agent appears here.
              </Nothing>
            }
          >
            <ul class="divide-y divide-line">
              <For each={list().items.map(({ client_id }) => client_id)}>
                {(id) => (
                  <Show when={clientOf(id)}>
                    {(client) => (
                      <li class="py-3 first:pt-0 last:pb-0">
                        <ClientItem client={client()} canChange={props.canChange} />
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

function ClientItem(props: { client: McpConnection; canChange: boolean }) {
  const refresh = useRefreshAgents();
  const switching = useMutation(() => ({ mutationFn: switchSelfApproval, onSettled: refresh }));
  const disconnecting = useMutation(() => ({
    mutationFn: partClient,
    onSuccess: () => announce(`${props.client.client_name} is disconnected`),
    onSettled: refresh,
  }));
  // Shows the person's choice until it is stored or refused, even if the list is loaded again
  // meanwhile.
  const isOnShown = () =>
    switching.isPending ? switching.variables.isOn : props.client.self_approve_enabled;
  const clientReference = () => ({ id: props.client.agent_id, clientId: props.client.client_id });
  return (
    <div class="grid gap-3">
      <div>
        <p class="font-medium wrap-anywhere">
          <VisibleText text={props.client.client_name} />
        </p>
        <p class="text-sm text-ink-soft">
          <Show when={props.client.last_used_at} fallback="Not used yet">
            {(at) => (
              <>
                Used <TimeAgo at={at()} />
              </>
            )}
          </Show>
          {' · let in '}
          <TimeAgo at={props.client.created_at} />
        </p>
      </div>
      <CheckBox
        isChecked={isOnShown()}
        onChange={(isOn) => switching.mutate({ ...clientReference(), isOn })}
        isDisabled={!props.canChange || switching.isPending}
        label="May decide its own approvals"
        hint="It can then allow whatever this agent asks for, without you."
      />
      <Show when={switching.error}>{(error) => <ErrorNotice error={error()} />}</Show>
      <Show when={props.canChange}>
        <ActAfterQuestion
          label="Disconnect"
          accessibleLabel={`Disconnect ${props.client.client_name}`}
          buttonClass="justify-self-start"
          question={
            <>
              Disconnect <VisibleText text={props.client.client_name} />?
            </>
          }
          consequences="It stops acting as this agent at once. You are asked when it signs in again."
          yes="Yes, disconnect it"
          isBusy={disconnecting.isPending}
          error={disconnecting.error}
          onYes={() => disconnecting.mutate(clientReference())}
        />
      </Show>
    </div>
  );
}
