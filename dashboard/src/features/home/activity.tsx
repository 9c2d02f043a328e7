import { A } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { For, Show } from 'solid-js';
import type { JSX } from 'solid-js';

import type { Usage } from '#contracts/http/audit';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { servicesQuery } from '../connect/connect.queries.ts';
import { referenceOf } from '../connect/connect-view.ts';
import { Empty, Rows } from './home-section.tsx';
import { SampleMark } from '../activity/sample-mark.tsx';
import { outcomeCountsOf, toneClasses } from '../activity/calls-view.ts';
import type { LastCall } from '../activity/calls-view.ts';

/** How often each outcome occurred. */
export function OutcomeCounts(props: { usage: Usage; none: JSX.Element }) {
  const counts = () => outcomeCountsOf(props.usage);
  return (
    <Show when={counts().length > 0} fallback={<Empty>{props.none}</Empty>}>
      <ul class="grid grid-cols-3 gap-x-4 gap-y-3 rounded-xl border border-line bg-surface px-4 py-3">
        <For each={counts()}>
          {({ words, tone, count }) => (
            <li class="flex flex-col">
              <span
                class={`text-2xl leading-tight font-semibold tabular-nums ${toneClasses[tone]}`}
              >
                {count.toLocaleString('en')}
              </span>
              <span class="text-sm text-ink-soft">{words}</span>
            </li>
          )}
        </For>
      </ul>
    </Show>
  );
}

export function CallList(props: { calls: readonly LastCall[]; none: JSX.Element }) {
  const services = useQuery(() => servicesQuery());
  /** The title of the service that has this name now. If there is none, the name itself. */
  const titleOf = (reference: string) =>
    services.data?.find(({ name, tier }) => referenceOf(name, tier) === reference)?.title ??
    reference;
  return (
    <Show when={props.calls.length > 0} fallback={<Empty>{props.none}</Empty>}>
      <Rows>
        <For each={props.calls}>
          {(call) => (
            <li>
              <Show
                when={call.href}
                fallback={
                  <div class="px-4 py-3">
                    <CallLine call={call} titleOf={titleOf} />
                  </div>
                }
              >
                {(href) => (
                  <A href={href()} class="block px-4 py-3 hover:bg-sunken">
                    <CallLine call={call} titleOf={titleOf} />
                  </A>
                )}
              </Show>
            </li>
          )}
        </For>
      </Rows>
    </Show>
  );
}

function CallLine(props: { call: LastCall; titleOf: (service: string) => string }) {
  return (
    <>
      <span class="flex items-baseline justify-between gap-3 text-sm">
        <span class={`font-semibold ${toneClasses[props.call.tone]}`}>{props.call.words}</span>
        <span class="whitespace-nowrap text-ink-soft">
          <TimeAgo at={props.call.at} side="end" />
        </span>
      </span>
      <span class="mt-0.5 line-clamp-2 leading-snug" dir="auto">
        <VisibleText text={props.call.description} />
      </span>
      <Show when={props.call.who ?? props.call.service}>
        <span class="mt-0.5 flex items-center gap-2 text-sm text-ink-soft">
          <span class="truncate">
            {props.call.isDecider && props.call.who !== null ? 'by ' : ''}
            <Show when={props.call.who}>{(who) => <VisibleText text={who()} />}</Show>
            {separatorOf(props.call)}
            <Show when={props.call.service !== 'http' && props.call.service}>
              {(service) => <VisibleText text={props.titleOf(service())} />}
            </Show>
          </span>
          <SampleMark template={props.call.template} />
        </span>
      </Show>
    </>
  );
}

/** The separator between caller and service. A call by full URL has no service name. */
function separatorOf({ who, service }: LastCall): string {
  if (service === 'http') return who === null ? 'direct HTTP' : ', direct HTTP';
  return who === null || service === null ? '' : ' on ';
}
