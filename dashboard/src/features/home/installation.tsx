import { useQuery } from '@tanstack/solid-query';
import { For, Show } from 'solid-js';

import type { AuditRecord } from '#contracts/audit';
import { Notice } from '../../ui/notice.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { ChainFacts } from '../activity/chain-state.tsx';
import { webhooksQuery } from '../webhooks/webhooks.queries.ts';
import { Empty, HomeSection } from './home-section.tsx';
import { troublesOf, webhookTroublesOf } from './home-view.ts';
import { statusQuery } from './home.queries.ts';

/** No event reports that a component has stopped. */
const askEveryMs = 30_000;

/**
 * Shows components that do not work and webhooks that are off. Shows nothing while everything
 * works.
 */
export function Troubles() {
  const webhooks = useQuery(() => webhooksQuery());
  const status = useQuery(() => ({ ...statusQuery(), refetchInterval: askEveryMs }));
  const troubles = () => [
    ...(status.data === undefined ? [] : troublesOf(status.data)),
    ...webhookTroublesOf(webhooks.data ?? []),
  ];
  return (
    <Show when={troubles().length > 0}>
      <HomeSection title="The gateway">
        <Notice tone="warning">
          <p class="font-medium">Not everything works:</p>
          <ul class="mt-1 list-inside list-disc">
            <For each={troubles()}>
              {(trouble) => (
                <li class="wrap-anywhere">
                  <VisibleText text={trouble} />
                </li>
              )}
            </For>
          </ul>
        </Notice>
      </HomeSection>
    </Show>
  );
}

/**
 * Says that everything in the gateway works. Shows nothing otherwise, because `Troubles` is shown
 * then.
 */
export function AllWell() {
  const status = useQuery(() => statusQuery());
  const hasTrouble = () => status.data !== undefined && troublesOf(status.data).length > 0;
  return (
    <Show when={!hasTrouble()}>
      <HomeSection title="The gateway">
        <Loaded query={status}>
          {(answer) => (
            <Notice tone="good">
              All {Object.keys(answer().components).length} components work.
            </Notice>
          )}
        </Loaded>
      </HomeSection>
    </Show>
  );
}

/**
 * Says whether the audit log is in order, and shows the newest record, so that a person can note
 * its number and hash outside the gateway.
 */
export function ChainState(props: { newest: AuditRecord | undefined }) {
  return (
    <HomeSection title="The audit log">
      <Show when={props.newest} fallback={<Empty>The log has no records yet.</Empty>}>
        {(newest) => <ChainFacts newest={newest()} />}
      </Show>
    </HomeSection>
  );
}
