import { useSearchParams } from '@solidjs/router';
import { useInfiniteQuery, useQuery } from '@tanstack/solid-query';
import { For, Show, createMemo, createSignal } from 'solid-js';

import { serverNowMs } from '../../api/server-clock.ts';
import { Button } from '../../ui/button.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { MoreButton } from '../../ui/more-button.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { useTitle } from '../../ui/title.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { openApprovalsQuery } from '../../features/approvals/approvals.queries.ts';
import { useMe } from '../session/session.tsx';
import { AddAgent } from './add-agent.tsx';
import { AgentTree } from './agent-tree.tsx';
import { countOver, groupByPerson, mayAddAgents, withoutOver } from './agent-view.ts';
import type { AgentNode, PersonAgents } from './agent-view.ts';
import { askAgainMs, identitiesQuery } from './agents.queries.ts';
import { useStandingOfAll } from './use-standing.ts';

/** The page with the agents that the person may see, and the form for a new one. */
export function AgentsPage() {
  const me = useMe();
  const [search, setSearch] = useSearchParams<{ add?: string }>();
  const isAdding = () => search.add !== undefined && mayAddAgents(me());
  const identities = useInfiniteQuery(() => ({
    ...identitiesQuery(),
    refetchInterval: askAgainMs,
  }));
  useTitle(() => 'Agents');

  const people = createMemo(() =>
    groupByPerson(identities.data?.pages.flatMap(({ items }) => items) ?? [], me(), serverNowMs()),
  );
  let addButton: HTMLButtonElement | undefined;
  const mine = () => people().find(({ ownerId }) => ownerId === me().id)?.agents ?? [];

  return (
    <main id="content" class="mx-auto max-w-3xl px-3 py-4 sm:px-6 sm:py-8">
      <div class="flex flex-wrap items-center justify-between gap-3">
        <h1 class="text-xl font-semibold sm:text-2xl">Agents</h1>
        <Show when={!isAdding() && mayAddAgents(me()) && people().length > 0}>
          <Button
            ref={(element) => (addButton = element)}
            look="primary"
            onClick={() => setSearch({ add: '1' })}
          >
            Add an agent
          </Button>
        </Show>
      </div>
      <Show when={isAdding()}>
        <div class="mt-4">
          <AddAgent
            onClose={() => {
              setSearch({ add: undefined });
              queueMicrotask(() => addButton?.focus());
            }}
          />
        </div>
      </Show>
      <div class="mt-4 grid grid-cols-[minmax(0,1fr)] gap-6">
        <Loaded query={identities}>
          {() => (
            <>
              <Show when={people().length === 0 && !isAdding() && !identities.hasNextPage}>
                <NoAgents onAdd={() => setSearch({ add: '1' })} />
              </Show>
              <Show when={mine().length > 0}>
                <PauseAll agents={mine()} />
              </Show>
              <People people={people()} />
              <MoreButton query={identities} />
            </>
          )}
        </Loaded>
      </div>
    </main>
  );
}

function NoAgents(props: { onAdd: () => void }) {
  const me = useMe();
  return (
    <div class="rounded-xl border border-dashed border-line-strong px-4 py-10 text-center">
      <p class="text-ink-soft">
        An agent is a program that acts for you. It never sees your credentials, and everything it
        wants to change asks you first.
      </p>
      <Show when={mayAddAgents(me())}>
        <Button look="primary" class="mt-4" onClick={() => props.onAdd()}>
          Add an agent
        </Button>
      </Show>
    </div>
  );
}

/** The trees of agents. With several people, each tree is below the name of its person. */
function People(props: { people: readonly PersonAgents[] }) {
  const me = useMe();
  const [showsOver, setShowsOver] = createSignal(false);
  const openApprovals = useQuery(() => openApprovalsQuery());
  const openCounts = createMemo(() => {
    const counts = new Map<string, number>();
    for (const { requester } of openApprovals.data?.items ?? []) {
      counts.set(requester.id, (counts.get(requester.id) ?? 0) + 1);
    }
    return counts;
  });
  const overCount = () => props.people.reduce((sum, { agents }) => sum + countOver(agents), 0);
  const shownOf = (agents: readonly AgentNode[]) => (showsOver() ? agents : withoutOver(agents));
  const hasHeadings = () => props.people.some(({ ownerId }) => ownerId !== me().id);
  const personOf = (id: string) => props.people.find(({ ownerId }) => ownerId === id);

  return (
    <>
      <For each={props.people.map(({ ownerId }) => ownerId)}>
        {(id) => (
          <Show when={personOf(id)}>
            {(person) => (
              <Show when={shownOf(person().agents).length > 0}>
                <section>
                  <Show when={hasHeadings()}>
                    <h2 class="mb-2 px-1 text-sm font-semibold text-ink-soft">
                      <Show when={id !== me().id} fallback="Yours">
                        <VisibleText text={person().ownerName} />
                      </Show>
                    </h2>
                  </Show>
                  <AgentTree nodes={shownOf(person().agents)} openCounts={openCounts()} />
                </section>
              </Show>
            )}
          </Show>
        )}
      </For>
      <Show when={overCount() > 0}>
        <Button
          look="quiet"
          class="justify-self-start"
          aria-expanded={showsOver()}
          onClick={() => setShowsOver((shown) => !shown)}
        >
          {showsOver() ? 'Hide' : 'Show'} revoked and ended ones ({overCount()})
        </Button>
      </Show>
    </>
  );
}

/** The buttons that pause all of the person's agents, or resume the paused ones. */
function PauseAll(props: { agents: readonly AgentNode[] }) {
  const changing = useStandingOfAll();
  const idsIn = (state: string) =>
    props.agents
      .filter(({ standing }) => standing.state === state)
      .map(({ identity }) => identity.id);
  const activeIds = () => idsIn('active');
  const pausedIds = () => idsIn('paused');
  return (
    <div class="grid gap-3">
      <div class="flex flex-wrap gap-2">
        <Show when={activeIds().length > 0}>
          <Button
            disabled={changing.isPending}
            onClick={() => changing.mutate({ ids: activeIds(), verb: 'archive' })}
          >
            {changing.isPending ? 'One moment…' : 'Pause all my agents'}
          </Button>
        </Show>
        <Show when={pausedIds().length > 1 || (pausedIds().length > 0 && activeIds().length === 0)}>
          <Button
            disabled={changing.isPending}
            onClick={() => changing.mutate({ ids: pausedIds(), verb: 'restore' })}
          >
            Resume the paused ones ({pausedIds().length})
          </Button>
        </Show>
      </div>
      <Show when={changing.error}>{(error) => <ErrorNotice error={error()} />}</Show>
    </div>
  );
}
