import { useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch } from 'solid-js';

import type { AuditRecord } from '#contracts/audit';
import { Spinner } from '../../ui/icon.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { Empty, HomeSection } from './home-section.tsx';
import { troublesOf, webhookTroublesOf } from './home-view.ts';
import { chainQuery, statusQuery, webhooksQuery } from './home.queries.ts';

/** No event reports that a component has stopped. */
const askEveryMs = 30_000;
/** A check reads every record, which a log beyond this size does not do for a look at the page. */
const checkedRecordsMax = 20_000;

/** What does not work in the gateway, and webhooks that are off; nothing while everything works. */
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

/** That everything in the gateway works; `Troubles` shows what does not. */
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

/** Whether the records are in order, and the newest of them, to be noted outside. */
export function ChainState(props: { newest: AuditRecord | undefined }) {
  const isChecked = () => props.newest !== undefined && props.newest.seq <= checkedRecordsMax;
  const chain = useQuery(() => ({ ...chainQuery(), enabled: isChecked() }));
  return (
    <HomeSection title="The audit log">
      <Show when={props.newest} fallback={<Empty>The log has no records yet.</Empty>}>
        {(newest) => (
          <div class="space-y-3">
            <Switch>
              <Match when={!isChecked()}>
                <Notice tone="info">
                  The log has {newest().seq.toLocaleString('en')} records, too many to check for
                  each look at this page. <code class="font-mono">GET /v1/audit/verify</code> checks
                  them.
                </Notice>
              </Match>
              <Match when={chain.data?.valid === true}>
                <Notice tone="good">
                  All {chain.data?.rows_checked.toLocaleString('en')} records are in order: none was
                  changed or removed.
                </Notice>
              </Match>
              <Match when={chain.data}>
                {(answer) => (
                  <Notice tone="bad" role="alert">
                    Record {answer().first_bad_seq?.toLocaleString('en')} does not fit: it, or one
                    before it, was changed or removed.
                  </Notice>
                )}
              </Match>
              <Match when={chain.error}>
                {(error) => <ErrorNotice error={error()} onRetry={() => void chain.refetch()} />}
              </Match>
              <Match when={chain.isPending}>
                <p class="flex items-center gap-3 px-1 py-3 text-ink-soft" role="status">
                  <Spinner /> Checking {newest().seq.toLocaleString('en')} records…
                </p>
              </Match>
            </Switch>
            <div class="rounded-xl border border-line bg-surface px-4 py-3 text-sm">
              <p>
                Newest record: number {newest().seq.toLocaleString('en')},{' '}
                <TimeAgo at={newest().at} />
              </p>
              <p class="mt-1 text-ink-soft">
                Hash <code class="font-mono break-all select-all">{newest().hash}</code>
              </p>
              <p class="mt-1 text-ink-soft">
                Note both outside the gateway: a log without this record was cut off.
              </p>
            </div>
          </div>
        )}
      </Show>
    </HomeSection>
  );
}
