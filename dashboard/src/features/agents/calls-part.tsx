import { A } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { For, Show } from 'solid-js';

import { isOpenApproval } from '#contracts/approval-status';
import type { Identity } from '#contracts/http/identities';
import { Chip } from '../../ui/chip.tsx';
import { Panel } from '../../ui/panel.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { SampleMark } from '../activity/sample-mark.tsx';
import { lastCallsOf, toneClasses } from '../activity/calls-view.ts';
import {
  endTimeOf,
  isSampleCall,
  statusWordOf,
  toneOf,
} from '../../features/approvals/approval-view.ts';
import { approvalsOfAgentQuery, askAgainMs, latestRecordsQuery } from './agents.queries.ts';
import { Loaded } from '../../ui/loaded.tsx';
import { Nothing } from '../../ui/nothing.tsx';

const rowClass =
  'flex flex-wrap items-baseline justify-between gap-x-3 py-2.5 first:pt-0 last:pb-0';

/** The latest approvals that the agent asked for, open or decided. */
export function ApprovalsPart(props: { identity: Identity }) {
  const approvals = useQuery(() => approvalsOfAgentQuery(props.identity.id));
  return (
    <Show when={approvals.error !== null || (approvals.data?.items.length ?? 0) > 0}>
      <Panel title="Approvals">
        <Loaded query={approvals}>
          {(list) => (
            <ul class="divide-y divide-line">
              <For each={list().items}>
                {(approval) => (
                  <li class={rowClass}>
                    <A
                      class="min-w-0 grow basis-56 wrap-anywhere hover:underline"
                      href={`/approvals/${approval.id}`}
                    >
                      <VisibleText text={approval.action_description} />
                    </A>
                    <span class="text-sm wrap-anywhere text-ink-soft sm:whitespace-nowrap">
                      <Show when={isSampleCall(approval)}>
                        <Chip>Sample</Chip>{' '}
                      </Show>
                      <Show
                        when={isOpenApproval(approval)}
                        fallback={
                          <>
                            <span class={`font-semibold ${toneClasses[toneOf(approval)]}`}>
                              {statusWordOf(approval)}
                            </span>
                            {' · '}
                            <TimeAgo at={endTimeOf(approval)} />
                          </>
                        }
                      >
                        <span class="font-semibold text-medium">Waits</span> {'· '}
                        <TimeAgo at={approval.created_at} />
                      </Show>
                    </span>
                  </li>
                )}
              </For>
            </ul>
          )}
        </Loaded>
      </Panel>
    </Show>
  );
}

const callsMax = 20;

/** The latest calls of the agent, from the audit log. */
export function CallsPart(props: { identity: Identity }) {
  const records = useQuery(() => ({
    ...latestRecordsQuery(props.identity.id),
    refetchInterval: askAgainMs,
  }));
  return (
    <Panel
      title="Activity"
      act={
        <A class="text-sm text-accent underline" href={`/activity?agent=${props.identity.id}`}>
          All of it
        </A>
      }
    >
      <Loaded query={records}>
        {(list) => (
          <Show
            when={lastCallsOf(list().items, callsMax).length > 0}
            fallback={<Nothing>It has not called anything yet.</Nothing>}
          >
            <ul class="divide-y divide-line">
              <For each={lastCallsOf(list().items, callsMax)}>
                {(call) => (
                  <li class={rowClass}>
                    <span class="min-w-0 grow basis-56 wrap-anywhere">
                      <Show when={call.href} fallback={<VisibleText text={call.description} />}>
                        {(href) => (
                          <A class="hover:underline" href={href()}>
                            <VisibleText text={call.description} />
                          </A>
                        )}
                      </Show>
                    </span>
                    <span class="text-sm wrap-anywhere text-ink-soft sm:whitespace-nowrap">
                      <span class={`font-semibold ${toneClasses[call.tone]}`}>{call.words}</span>
                      {' · '}
                      <Show when={call.service}>
                        {(service) => (
                          <>
                            <VisibleText text={service()} /> <SampleMark template={call.template} />
                            {' · '}
                          </>
                        )}
                      </Show>
                      <TimeAgo at={call.at} />
                    </span>
                  </li>
                )}
              </For>
            </ul>
          </Show>
        )}
      </Loaded>
    </Panel>
  );
}
