import { useQuery } from '@tanstack/solid-query';
import { For, Show } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { ButtonLink } from '../../ui/button.tsx';
import { Notice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { connectionsQuery, secretsQuery } from '../connect/connect.queries.ts';
import { useMe } from '../session/session.tsx';
import { serviceOf } from './approval-view.ts';
import { namesToLookUp, refusedCredentialsOf } from './refused-credentials.ts';

/**
 * A person reads a card within seconds, so credentials that were loaded this recently are fresh
 * enough.
 */
const freshMs = 30_000;

/**
 * Says that the call will probably fail, because the provider refused its account or secret the
 * last time. Shows nothing if that is not known. The call can still be allowed.
 */
export function RefusedNotice(props: { approval: ApprovalResponse }) {
  const me = useMe();
  const names = () => namesToLookUp(me(), props.approval);
  const secrets = useQuery(() => ({
    ...secretsQuery(),
    enabled: names().secrets.length > 0,
    staleTime: freshMs,
  }));
  const connections = useQuery(() => ({
    ...connectionsQuery(),
    enabled: names().connections.length > 0,
    staleTime: freshMs,
  }));
  const refused = () =>
    refusedCredentialsOf(me(), props.approval, {
      secrets: secrets.data ?? [],
      connections: connections.data ?? [],
    });
  const refuser = () =>
    props.approval.service === 'http' ? 'The provider' : serviceOf(props.approval);
  return (
    <Show when={refused().length > 0}>
      <div class="grid gap-2 px-4 pb-4 sm:px-6">
        <For each={refused()}>
          {(credential) => (
            <Notice tone="warning">
              <p class="font-semibold">This call will probably fail</p>
              <p class="mt-1">
                <VisibleText text={refuser()} /> refused the{' '}
                {credential.kind === 'secret' ? 'secret' : 'account'}{' '}
                <strong class="font-semibold">
                  <VisibleText text={credential.name} />
                </strong>{' '}
                <TimeAgo at={credential.refusedAt} inSentence />.{' '}
                <Show when={credential.repairPath === null}>
                  {credential.kind === 'secret'
                    ? 'Its agent can ask for a new value (request_secret with this name), which you then enter by the link that the agent shows.'
                    : 'An admin can connect it again.'}
                </Show>
              </p>
              <Show when={credential.repairPath}>
                {(path) => (
                  <ButtonLink class="mt-3" rel="external" href={path()}>
                    Connect the account again
                  </ButtonLink>
                )}
              </Show>
            </Notice>
          )}
        </For>
      </div>
    </Show>
  );
}
