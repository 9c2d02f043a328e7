import { Show, createEffect, createMemo } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { Icon } from '../../ui/icon.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { Ago } from '../../ui/times.tsx';
import { useTitle } from '../../ui/title.ts';
import { visibleText } from '../../ui/visible-characters.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { Who } from '../../ui/who.tsx';
import { useMe } from '../session/session.tsx';
import { cardWords, isOpen, mayDecide, progressOf } from './approval-view.ts';
import { DecisionBar } from './decision-bar.tsx';
import { OnWhichAccount } from './credentials.tsx';
import { Destination } from './destination.tsx';
import { DisclosedFields } from './disclosed-fields.tsx';
import { RequestDetails } from './request-details.tsx';
import { holdsUnseen } from './request-view.ts';
import { isTooLarge } from './second-gesture.ts';
import { ServiceDetails } from './service-details.tsx';
import { Outcome } from './outcome.tsx';
import { RiskBadge, riskBand } from './risk-badge.tsx';
import { useDecision } from './use-decision.ts';

/** Who wants what, exactly, where, for how long it can be decided, and the decision: in this order, without a click. */
export function ApprovalCard(props: { approval: ApprovalResponse; isStale: boolean }) {
  const me = useMe();
  const decision = useDecision(() => props.approval);
  const words = () => cardWords[progressOf(props.approval)];
  const permission = () => mayDecide(me(), props.approval);
  const isOfEarlierVersion = () => props.approval.unverified === 'earlier_version';
  const hidesText = createMemo(() => holdsUnseen(props.approval.request));
  let outcome: HTMLDivElement | undefined;

  useTitle(() => visibleText(props.approval.action_description).slice(0, 80));
  // Who has just decided goes on reading at what comes of it, wherever on the card they were.
  const isDoneHere = createMemo(() => decision.isDecidedHere() && !isOpen(props.approval));
  createEffect(() => {
    if (!isDoneHere()) return;
    requestAnimationFrame(() => {
      outcome?.focus({ preventScroll: true });
      outcome?.scrollIntoView({ block: 'nearest' });
    });
  });

  return (
    <article
      class={`rounded-2xl border border-t-4 border-line bg-surface shadow-sm ${riskBand(props.approval.risk)}`}
      aria-labelledby="card-title"
      aria-busy={decision.deciding.isPending}
    >
      <header class="px-4 pt-3 pb-4 sm:px-6 sm:pt-4 sm:pb-5">
        <div class="flex flex-wrap items-start justify-between gap-x-4 gap-y-2">
          <Who requester={props.approval.requester} wants={words().wants} />
          <div class="flex items-center gap-3 max-sm:w-full max-sm:justify-between sm:flex-col sm:items-end sm:gap-1">
            <RiskBadge risk={props.approval.risk} />
            <span class="text-sm whitespace-nowrap text-ink-soft">
              <span class="max-sm:sr-only">asked </span>
              <Ago at={props.approval.created_at} />
            </span>
          </div>
        </div>
        <h1
          id="card-title"
          class="mt-3 text-lg leading-snug font-semibold sm:mt-4 sm:text-2xl"
          dir="auto"
          tabindex="-1"
        >
          <VisibleText text={props.approval.action_description} />
        </h1>
        <OnWhichAccount
          credentials={props.approval.request.credentials}
          isRecorded={!isOfEarlierVersion()}
        />
        <Destination request={props.approval.request} />
        <Show when={hidesText()}>
          <p class="mt-2 flex gap-2 font-medium text-medium">
            <Icon name="alert" class="mt-0.5 size-5 shrink-0" />
            It holds characters that nobody sees, shown here as {'\\u202e'} or U+202E. They can make
            text read as something else.
          </p>
        </Show>
        <Show when={isTooLarge(props.approval.request)}>
          <p class="mt-2 flex gap-2 font-medium text-medium">
            <Icon name="alert" class="mt-0.5 size-5 shrink-0" />
            Too large to be shown whole: see what is missing below.
          </p>
        </Show>
        <Show when={props.approval.status === 'bubbled'}>
          <p class="mt-2 text-sm text-ink-soft">Handed up by those below you</p>
        </Show>
      </header>

      <Show when={props.isStale}>
        <div class="px-4 pb-4 sm:px-6">
          <Notice tone="warning">This may be out of date: the gateway does not answer.</Notice>
        </div>
      </Show>
      <Show when={!props.approval.verified}>
        <div class="px-4 pb-4 sm:px-6">
          <Unverified isEarlier={isOfEarlierVersion()} isOpen={isOpen(props.approval)} />
        </div>
      </Show>
      <Show when={!isOpen(props.approval)}>
        <div
          ref={(element) => (outcome = element)}
          tabindex="-1"
          class="scroll-mt-16 px-4 pb-5 sm:px-6"
        >
          <Outcome approval={props.approval} decision={decision} />
        </div>
      </Show>

      <div class="divide-y divide-line border-t border-line [&_button]:scroll-mb-40 [&_summary]:scroll-mb-40">
        <DisclosedFields title={words().does} fields={props.approval.disclosed} />
        <RequestDetails
          request={props.approval.request}
          exposed={words().exposed}
          isRecorded={!isOfEarlierVersion()}
          isOpen={isOpen(props.approval)}
        />
        <ServiceDetails approval={props.approval} keysTitle={words().keys} />
      </div>

      <Show when={decision.error()}>
        {(error) => (
          <div class="px-4 pb-4 sm:px-6">
            <ErrorNotice error={error()} />
          </div>
        )}
      </Show>
      <Show when={isOpen(props.approval)}>
        <Show
          when={permission().yes}
          fallback={
            <p class="flex items-center gap-2 border-t border-line px-4 py-4 text-ink-soft sm:px-6">
              <Icon name="eye" /> {permission().why}
            </p>
          }
        >
          <DecisionBar
            approval={props.approval}
            isDeciding={decision.deciding.isPending}
            onDecide={decision.decide}
          />
        </Show>
      </Show>
    </article>
  );
}

/** Why nobody can allow it: what is shown was changed, or nothing was recorded to check it by. */
function Unverified(props: { isEarlier: boolean; isOpen: boolean }) {
  return (
    <Show
      when={props.isEarlier}
      fallback={
        <Notice tone="bad">
          <p class="font-semibold">
            Not verified: this is not what was asked for when the call was suspended
          </p>
          <p class="mt-1">
            {props.isOpen ? 'It can be denied and not allowed. ' : ''}
            Tell the people who run the gateway.
          </p>
        </Notice>
      }
    >
      <Notice tone={props.isOpen ? 'warning' : 'info'}>
        <p class="font-semibold">An earlier version of the gateway raised this</p>
        <p class="mt-1">
          It did not record headers and credentials.
          {props.isOpen ? ' Deny it, and have the agent make the call again to allow it.' : ''}
        </p>
      </Notice>
    </Show>
  );
}
