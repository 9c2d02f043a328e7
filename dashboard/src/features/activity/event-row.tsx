import { A } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { For, Show, createSignal, createUniqueId } from 'solid-js';

import type { AuditRecord } from '#contracts/audit';
import { Icon } from '../../ui/icon.tsx';
import { Loaded } from '../../ui/loaded.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { PersonName } from '../../ui/who.tsx';
import { Field } from '../approvals/section.tsx';
import { recordsOfCallQuery } from './activity.queries.ts';
import { outcomeOf, presentCall, toneClasses } from './calls-view.ts';
import { newFactsOf } from './record-facts.ts';
import { SampleMark } from './sample-mark.tsx';

/** One event in a line. Opened, it shows everything that is recorded about the event. */
export function EventRow(props: { record: AuditRecord; displayName: string | undefined }) {
  const [isOpen, setOpen] = createSignal(false);
  const detailsId = createUniqueId();
  return (
    <li>
      <button
        type="button"
        class="block w-full px-4 py-3 text-left hover:bg-sunken"
        aria-expanded={isOpen()}
        aria-controls={detailsId}
        onClick={() => setOpen((open) => !open)}
      >
        <EventLine {...props} isOpen={isOpen()} />
      </button>
      <div id={detailsId} hidden={!isOpen()}>
        <Show when={isOpen()}>
          <Details record={props.record} />
        </Show>
      </div>
    </li>
  );
}

function EventLine(props: {
  record: AuditRecord;
  displayName: string | undefined;
  isOpen: boolean;
}) {
  const call = () => presentCall(props.record);
  return (
    <>
      <span class="flex items-baseline justify-between gap-3">
        <span class="min-w-0 leading-snug wrap-anywhere" dir="auto">
          <VisibleText text={call().description} />
        </span>
        <span class="flex shrink-0 items-center gap-1 text-sm whitespace-nowrap text-ink-soft">
          <TimeAgo at={props.record.at} side="end" />
          <span classList={{ 'rotate-180': props.isOpen }}>
            <Icon name="chevron" class="size-4 shrink-0" />
          </span>
        </span>
      </span>
      <span class="mt-0.5 flex flex-wrap items-center gap-x-2 text-sm text-ink-soft">
        <Show when={outcomeOf(props.record)}>
          {(outcome) => (
            <span class={`font-semibold ${toneClasses[outcome().tone]}`}>{outcome().words}</span>
          )}
        </Show>
        <Show when={props.record.identity}>
          {(identity) => (
            <span class="min-w-0 wrap-anywhere">
              {call().isDecider ? 'by ' : ''}
              <For each={identity().path}>
                {(name, at) => (
                  <>
                    {at() > 0 ? ' › ' : ''}
                    <Show when={at() === 0} fallback={<VisibleText text={name} />}>
                      <PersonName handle={name} displayName={props.displayName} />
                    </Show>
                  </>
                )}
              </For>
            </span>
          )}
        </Show>
        <SampleMark template={props.record.template} />
      </span>
    </>
  );
}

/** What the records contain. A record does not repeat what an earlier record has. */
function Details(props: { record: AuditRecord }) {
  const records = useQuery(() => recordsOfCallQuery(props.record));
  return (
    <div class="border-t border-line bg-sunken px-4 py-3 text-sm">
      <Loaded query={records}>
        {(rows) => (
          <ol class="space-y-4">
            <For each={newFactsOf(rows())}>
              {(facts, at) => (
                <li>
                  <Show when={rows()[at()]}>
                    {(row) => (
                      <p class="mb-1 font-medium wrap-anywhere">
                        <VisibleText text={row().description} />
                        <span class="font-normal text-ink-soft">
                          {' · '}
                          <time dateTime={row().at}>{new Date(row().at).toLocaleString()}</time>
                        </span>
                      </p>
                    )}
                  </Show>
                  <dl class="space-y-1 sm:[&_dt]:pt-0">
                    <For each={facts}>
                      {({ label, value, isCode }) => (
                        <Field label={<VisibleText text={label} />} isShort>
                          <LongText
                            text={value}
                            class={isCode ? 'font-mono text-[0.9em] break-all' : 'wrap-anywhere'}
                          />
                        </Field>
                      )}
                    </For>
                  </dl>
                </li>
              )}
            </For>
          </ol>
        )}
      </Loaded>
      <Show when={props.record.approval_id}>
        {(id) => (
          <p class="mt-3">
            <A class="font-medium text-accent underline" href={`/approvals/${id()}`}>
              Open the approval
            </A>
          </p>
        )}
      </Show>
    </div>
  );
}
