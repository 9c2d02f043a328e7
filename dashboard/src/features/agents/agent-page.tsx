import { A, useParams } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { Match, Show, Switch } from 'solid-js';

import type { Identity } from '#contracts/http/identities';
import { serverNowMs } from '../../api/server-clock.ts';
import { isApiError } from '../../api/client.ts';
import { Icon, Spinner } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { useTitle } from '../../ui/title.ts';
import { useMe } from '../session/session.tsx';
import { AgentHeader } from './agent-header.tsx';
import { isOver, mayManage, standingOf } from './agent-view.ts';
import { askAgainMs, chainQuery } from './agents.queries.ts';
import { ApprovalsPart, CallsPart } from './calls-part.tsx';
import { ClientsPart } from './clients-part.tsx';
import { KeysPart } from './keys-part.tsx';
import { PermissionsPart } from './permissions-part.tsx';
import { RevokePart } from './revoke-part.tsx';
import { SettingsPart } from './settings-part.tsx';
import { SubagentsPart } from './subagents-part.tsx';

/**
 * The page of one agent or subagent: its permissions, its keys and programs, its calls, and ways to
 * stop it.
 */
export function AgentPage() {
  const params = useParams<{ id: string }>();
  const chain = useQuery(() => ({ ...chainQuery(params.id), refetchInterval: askAgainMs }));
  const isUnknown = () =>
    isApiError(chain.error, 'not_found') || isApiError(chain.error, 'invalid_request');
  useTitle(() => chain.data?.[0]?.name ?? 'Agent');

  return (
    <main id="content" class="mx-auto max-w-3xl px-3 py-3 sm:px-6 sm:py-6">
      <A
        href="/agents"
        class="mb-2 inline-flex min-h-11 items-center gap-2 rounded-lg pr-3 font-medium text-ink-soft hover:text-ink"
      >
        <Icon name="back" /> Agents
      </A>
      <Switch>
        <Match when={chain.data}>
          {(loaded) => (
            <Show when={loaded()[0]}>
              {(identity) => <Agent identity={identity()} chain={loaded()} error={chain.error} />}
            </Show>
          )}
        </Match>
        <Match when={isUnknown()}>
          <h1 class="text-xl font-semibold">There is no such agent</h1>
          <p class="mt-2 text-ink-soft">It may be somebody else’s, whom only admins may look at.</p>
        </Match>
        <Match when={chain.error}>
          {(error) => <ErrorNotice error={error()} onRetry={() => void chain.refetch()} />}
        </Match>
        <Match when={chain.isPending}>
          <p class="flex items-center gap-3 py-6 text-ink-soft" role="status">
            <Spinner /> Loading…
          </p>
        </Match>
      </Switch>
    </main>
  );
}

function Agent(props: { identity: Identity; chain: readonly Identity[]; error: Error | null }) {
  const me = useMe();
  const standing = () => standingOf(props.identity, props.chain.slice(1), serverNowMs());
  const canChange = () => mayManage(me(), props.identity) && !isOver(standing());
  const hasClients = () => props.identity.owner_id === me().id && props.identity.kind === 'agent';

  return (
    <Show
      when={props.identity.kind !== 'user'}
      fallback={<p class="text-ink-soft">This is a person, not an agent.</p>}
    >
      <div class="grid grid-cols-[minmax(0,1fr)] gap-4">
        <Show when={props.error}>{(error) => <ErrorNotice error={error()} />}</Show>
        <AgentHeader identity={props.identity} standing={standing()} canChange={canChange()} />
        <ApprovalsPart identity={props.identity} />
        <PermissionsPart chain={props.chain} canChange={mayManage(me(), props.identity)} />
        <KeysPart
          identity={props.identity}
          canChange={canChange()}
          isPaused={standing().state === 'paused'}
        />
        <Show when={hasClients()}>
          <ClientsPart identity={props.identity} canChange={canChange()} />
        </Show>
        <SubagentsPart identity={props.identity} />
        <CallsPart identity={props.identity} />
        <Show when={canChange()}>
          <SettingsPart identity={props.identity} />
          <RevokePart identity={props.identity} />
        </Show>
      </div>
    </Show>
  );
}
