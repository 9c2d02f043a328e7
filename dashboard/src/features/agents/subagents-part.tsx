import { useInfiniteQuery } from '@tanstack/solid-query';
import { Show, createMemo } from 'solid-js';

import type { Identity } from '#contracts/http/identities';
import { serverNowMs } from '../../api/server-clock.ts';
import { Panel } from '../../ui/panel.tsx';
import { useMe } from '../session/session.tsx';
import { AgentTree } from './agent-tree.tsx';
import { findNode, groupByPerson, withoutOver } from './agent-view.ts';
import { identitiesQuery } from './agents.queries.ts';

/** The subagents of an agent, without revoked and expired ones. */
export function SubagentsPart(props: { identity: Identity }) {
  const me = useMe();
  const identities = useInfiniteQuery(() => identitiesQuery());
  const subagents = createMemo(() => {
    const loaded = identities.data?.pages.flatMap(({ items }) => items) ?? [];
    const people = groupByPerson(loaded, me(), serverNowMs());
    const agents = people.flatMap((person) => person.agents);
    return withoutOver(findNode(agents, props.identity.id)?.children ?? []);
  });
  return (
    <Show when={subagents().length > 0}>
      <Panel title="Subagents">
        <AgentTree nodes={subagents()} openCounts={new Map()} />
      </Panel>
    </Show>
  );
}
