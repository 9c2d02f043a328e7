import { useMutation, useQuery } from '@tanstack/solid-query';
import { Show } from 'solid-js';

import type { Identity } from '#contracts/http/identities';
import { announce } from '../../ui/announcer.tsx';
import { Panel } from '../../ui/panel.tsx';
import { ActAfterQuestion } from '../../ui/question.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { keysQuery, revokeIdentity } from './agents.queries.ts';
import { useRefreshAgents } from './use-standing.ts';

/**
 * The button that revokes the agent permanently. Its question first says what will stop working.
 */
export function RevokePart(props: { identity: Identity }) {
  const refresh = useRefreshAgents();
  const keys = useQuery(() => keysQuery(props.identity.id));
  const revoking = useMutation(() => ({
    mutationFn: revokeIdentity,
    onSuccess: ({ name }: Identity) => announce(`${name} is revoked`),
    onSettled: refresh,
  }));
  const keyNames = () => keys.data?.items.map(({ name }) => name) ?? [];
  const shownKeysMax = 5;

  return (
    <Panel title="Revoke for good">
      <p class="mb-3 text-sm text-ink-soft">To stop it for a while, pause it instead.</p>
      <ActAfterQuestion
        label="Revoke the agent…"
        question={
          <>
            Revoke <VisibleText text={props.identity.name} /> for good?
          </>
        }
        consequences={
          <>
            <p>This cannot be undone. What stops at once:</p>
            <ul class="mt-1 list-disc pl-5">
              <li>every call of it and of its subagents</li>
              <Show when={keyNames().length > 0}>
                <li>
                  its keys: <VisibleText text={keyNames().slice(0, shownKeysMax).join(', ')} />
                  {keyNames().length > shownKeysMax
                    ? ` and ${keyNames().length - shownKeysMax} more`
                    : ''}
                </li>
              </Show>
              <li>programs that signed in as it</li>
              <li>its open approvals: they are denied</li>
            </ul>
          </>
        }
        yes="Yes, revoke it for good"
        isBusy={revoking.isPending}
        error={revoking.error}
        onYes={() => revoking.mutate({ id: props.identity.id })}
      />
    </Panel>
  );
}
