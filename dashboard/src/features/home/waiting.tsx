import { A } from '@solidjs/router';
import { For, Show } from 'solid-js';
import type { JSX } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import type { ServiceRequest } from '#contracts/http/requests';
import { Icon } from '../../ui/icon.tsx';
import { Countdown } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { AskedBy } from '../approvals/asked-by.tsx';
import { RiskBadge } from '../approvals/risk-badge.tsx';
import { questionOf } from '../connect/request-words.ts';
import { Empty, Rows } from './home-section.tsx';
import type { WaitingItem } from './home-view.ts';

const shownMax = 8;

/** The approvals and requests that this person can answer. */
export function WaitingList(props: {
  items: readonly WaitingItem[];
  /** How many approvals wait for other people or agents. */
  othersCount: number;
  /** The text to show if nothing waits. */
  none: string;
}) {
  const hidden = () => props.items.slice(shownMax);
  const hiddenApprovals = () => hidden().filter(({ kind }) => kind === 'approval').length;
  const hiddenRequests = () => hidden().length - hiddenApprovals();
  return (
    <>
      <Show when={props.items.length > 0} fallback={<Empty>{props.none}</Empty>}>
        <Rows>
          <For each={props.items.slice(0, shownMax)}>
            {(item) => (
              <li>
                {item.kind === 'approval' ? (
                  <ApprovalRow approval={item.approval} />
                ) : (
                  <RequestRow request={item.request} />
                )}
              </li>
            )}
          </For>
        </Rows>
      </Show>
      <Show when={hiddenApprovals() > 0}>
        <MoreLink href="/approvals">
          {hiddenApprovals()} more {hiddenApprovals() === 1 ? 'waits' : 'wait'}: see all approvals
        </MoreLink>
      </Show>
      <Show when={hiddenRequests() > 0}>
        <MoreLink href="/services">
          {hiddenRequests() === 1
            ? 'One more request: see it under Services'
            : `${hiddenRequests()} more requests: see them under Services`}
        </MoreLink>
      </Show>
      <Show when={props.othersCount > 0}>
        <p class="px-1 pt-2 text-sm text-ink-soft">
          <A href="/approvals" class="underline">
            {props.othersCount === 1 ? 'One more call' : `${props.othersCount} more calls`}
          </A>{' '}
          {props.othersCount === 1 ? 'waits' : 'wait'} for others first.
        </p>
      </Show>
    </>
  );
}

function MoreLink(props: { href: string; children: JSX.Element }) {
  return (
    <p class="px-1 pt-2">
      <A href={props.href} class="inline-flex min-h-11 items-center font-semibold text-accent">
        {props.children}
      </A>
    </p>
  );
}

const rowClass = 'flex items-start gap-3 px-4 py-3 hover:bg-sunken';

function ApprovalRow(props: { approval: ApprovalResponse }) {
  return (
    <A href={`/approvals/${props.approval.id}`} class={rowClass}>
      <span class="min-w-0 grow">
        <span class="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 text-sm">
          <RiskBadge risk={props.approval.risk} isShort />
          <Countdown endsAt={props.approval.expires_at} textAfter="left" />
        </span>
        <span class="mt-1.5 line-clamp-2 leading-snug font-medium" dir="auto">
          <VisibleText text={props.approval.action_description} />
        </span>
        <span class="mt-0.5 block text-sm text-ink-soft">
          <AskedBy approval={props.approval} />
        </span>
      </span>
    </A>
  );
}

/** A request for a service, an account or a secret. */
export function RequestRow(props: { request: ServiceRequest; note?: string | undefined }) {
  return (
    <A href={`/requests/${props.request.id}`} class={rowClass}>
      <span class="min-w-0 grow">
        <span class="flex flex-wrap items-center justify-between gap-x-3 gap-y-1 text-sm">
          <span class="inline-flex items-center gap-1.5 rounded-full bg-sunken px-2.5 py-0.5 font-semibold whitespace-nowrap text-ink-soft">
            <Icon name="key" class="size-4 shrink-0" />
            Request
          </span>
          <Countdown endsAt={props.request.expires_at} textAfter="left" />
        </span>
        <span class="mt-1.5 line-clamp-2 leading-snug font-medium" dir="auto">
          <VisibleText text={questionOf(props.request)} />
        </span>
        <span class="mt-0.5 block truncate text-sm text-ink-soft">
          <VisibleText text={props.request.requester.path.join(' › ')} />
        </span>
        <Show when={props.note}>
          {(note) => (
            <span class="mt-1 flex items-start gap-1.5 text-sm text-medium">
              <Icon name="alert" class="mt-0.5 size-4 shrink-0" />
              <span>{note()}</span>
            </span>
          )}
        </Show>
      </span>
    </A>
  );
}
