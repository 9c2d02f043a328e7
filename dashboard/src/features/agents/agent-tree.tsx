import { A } from '@solidjs/router';
import { For, Show } from 'solid-js';

import { Button } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ErrorNotice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { isOver, mayManage } from './agent-view.ts';
import type { AgentNode } from './agent-view.ts';
import { StandingBadge } from './standing-badge.tsx';
import { useStanding } from './use-standing.ts';

interface TreeProps {
  readonly nodes: readonly AgentNode[];
  /** The number of open approvals of each agent, by the agent's id. */
  readonly openCounts: ReadonlyMap<string, number>;
}

/** Agents with their subagents below them. */
export function AgentTree(props: TreeProps & { isNested?: boolean }) {
  const nodeOf = (id: string) => props.nodes.find(({ identity }) => identity.id === id);
  return (
    <ul
      class="grid grid-cols-[minmax(0,1fr)] gap-2"
      classList={{
        'mt-2 ml-2 border-l-2 border-line pl-2 sm:ml-5 sm:pl-4': props.isNested === true,
      }}
    >
      {/* Rows are kept by id, so that a button keeps the focus when new answers arrive. */}
      <For each={props.nodes.map(({ identity }) => identity.id)}>
        {(id) => (
          <Show when={nodeOf(id)}>
            {(node) => (
              <li>
                <AgentRow node={node()} openCount={props.openCounts.get(id) ?? 0} />
                <Show when={node().children.length > 0}>
                  <AgentTree nodes={node().children} openCounts={props.openCounts} isNested />
                </Show>
              </li>
            )}
          </Show>
        )}
      </For>
    </ul>
  );
}

function AgentRow(props: { node: AgentNode; openCount: number }) {
  const me = useMe();
  const standing = useStanding();
  const identity = () => props.node.identity;
  const isPaused = () => identity().status === 'archived';
  const canPause = () => mayManage(me(), identity()) && !isOver(props.node.standing);

  return (
    <div class="relative rounded-xl border border-line bg-surface p-3 hover:border-line-strong">
      <div class="flex items-center gap-3">
        <span
          class="grid size-10 shrink-0 place-items-center rounded-xl bg-sunken text-ink-soft"
          classList={{ 'max-sm:hidden': identity().kind === 'subagent' }}
        >
          <Icon name="bot" class="size-6" />
        </span>
        <div class="min-w-0 grow">
          <p class="flex flex-wrap items-center gap-x-2 gap-y-0.5">
            {/* The link covers the whole row; the other controls of the row are in front of it. */}
            <A
              href={`/agents/${identity().id}`}
              class="min-w-0 truncate leading-snug font-semibold after:absolute after:inset-0 after:rounded-xl focus-visible:outline-none focus-visible:after:outline-3 focus-visible:after:outline-offset-2 focus-visible:after:outline-solid"
            >
              <VisibleText text={identity().name} />
            </A>
            <StandingBadge standing={props.node.standing} />
          </p>
          <p class="mt-0.5 flex flex-wrap gap-x-2 text-sm text-ink-soft">
            <Show when={identity().last_active_at} fallback="Not used yet">
              {(at) => (
                <span>
                  Used <TimeAgo at={at()} />
                </span>
              )}
            </Show>
            <Show when={props.openCount > 0}>
              <span class="font-semibold text-medium">
                {props.openCount === 1 ? '1 approval waits' : `${props.openCount} approvals wait`}
              </span>
            </Show>
          </p>
        </div>
        <Show when={canPause()}>
          <Button
            class="relative shrink-0 px-3!"
            disabled={standing.isPending}
            aria-label={`${isPaused() ? 'Resume' : 'Pause'} ${identity().name}`}
            onClick={() =>
              standing.mutate({ id: identity().id, verb: isPaused() ? 'restore' : 'archive' })
            }
          >
            <Icon name={isPaused() ? 'play' : 'pause'} />
            <span class="max-sm:sr-only">{isPaused() ? 'Resume' : 'Pause'}</span>
          </Button>
        </Show>
      </div>
      <Show when={standing.error}>
        {(error) => (
          <div class="mt-3">
            <ErrorNotice error={error()} />
          </div>
        )}
      </Show>
    </div>
  );
}
