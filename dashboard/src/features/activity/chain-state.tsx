import { useQuery } from '@tanstack/solid-query';
import { Match, Show, Switch } from 'solid-js';

import type { AuditRecord } from '#contracts/audit';
import { Spinner } from '../../ui/icon.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { chainQuery, latestRecordsQuery } from './activity.queries.ts';

/** A check reads every record. A longer log is not checked each time somebody opens the page. */
const checkedRecordsMax = 20_000;

function useChain(newest: () => AuditRecord) {
  const isEnabled = () => newest().seq <= checkedRecordsMax;
  return { isEnabled, query: useQuery(() => ({ ...chainQuery(), enabled: isEnabled() })) };
}

/** A line that says whether the audit log is in order. It opens to show the details. */
export function ChainLine() {
  const latest = useQuery(() => latestRecordsQuery());
  return (
    <Show
      when={latest.data?.items[0]}
      fallback={<p class="min-h-11 content-center px-1 text-sm text-ink-soft">The audit log</p>}
    >
      {(newest) => <ExpandableLine newest={newest()} />}
    </Show>
  );
}

function ExpandableLine(props: { newest: AuditRecord }) {
  const chain = useChain(() => props.newest);
  const isBroken = () => chain.query.data?.valid === false;
  const verdict = () => {
    if (!chain.isEnabled()) return 'not checked here';
    if (chain.query.error) return 'could not be checked';
    if (chain.query.data === undefined) return 'is being checked…';
    const { head, first_bad_seq: badSeq } = chain.query.data;
    return isBroken()
      ? `does not fit from record ${badSeq?.toLocaleString('en')}`
      : `in order up to record ${(head?.seq ?? 0).toLocaleString('en')}`;
  };
  return (
    <details open={isBroken()}>
      <summary
        class="min-h-11 content-center rounded px-1 text-sm font-medium hover:text-ink"
        classList={{ 'text-high': isBroken(), 'text-ink-soft': !isBroken() }}
      >
        The audit log: {verdict()}
      </summary>
      <div class="mt-1 mb-4">
        <ChainFacts newest={props.newest} />
      </div>
    </details>
  );
}

/**
 * Says whether the audit log is in order, and shows the newest record, so that a person can note
 * its number and hash outside the gateway.
 */
export function ChainFacts(props: { newest: AuditRecord }) {
  const chain = useChain(() => props.newest);
  return (
    <div class="space-y-3">
      <Switch>
        <Match when={!chain.isEnabled()}>
          <Notice tone="info">
            The log has {props.newest.seq.toLocaleString('en')} records, too many to check for each
            look at this page. <code class="font-mono">GET /v1/audit/verify</code> checks them.
          </Notice>
        </Match>
        <Match when={chain.query.data?.valid === true}>
          <Notice tone="good">
            All {chain.query.data?.rows_checked.toLocaleString('en')} records are in order: none was
            changed or removed.
          </Notice>
        </Match>
        <Match when={chain.query.data}>
          {(answer) => (
            <Notice tone="bad" role="alert">
              Record {answer().first_bad_seq?.toLocaleString('en')} does not fit: it, or one before
              it, was changed or removed.
            </Notice>
          )}
        </Match>
        <Match when={chain.query.error}>
          {(error) => <ErrorNotice error={error()} onRetry={() => void chain.query.refetch()} />}
        </Match>
        <Match when={chain.query.isPending}>
          <p class="flex items-center gap-3 px-1 py-3 text-ink-soft" role="status">
            <Spinner /> Checking {props.newest.seq.toLocaleString('en')} records…
          </p>
        </Match>
      </Switch>
      <div class="rounded-xl border border-line bg-surface px-4 py-3 text-sm">
        <p>
          Newest record: number {props.newest.seq.toLocaleString('en')},{' '}
          <TimeAgo at={props.newest.at} />
        </p>
        <p class="mt-1 text-ink-soft">
          Hash <code class="font-mono break-all select-all">{props.newest.hash}</code>
        </p>
        <p class="mt-1 text-ink-soft">
          Note both outside the gateway: a log without this record was cut off.
        </p>
      </div>
    </div>
  );
}
