import { Show, createEffect, createMemo } from 'solid-js';

import { isOpenApproval } from '#contracts/approval-status';
import type { ApprovalResponse } from '#contracts/http/approvals';
import { Chip } from '../../ui/chip.tsx';
import { Icon } from '../../ui/icon.tsx';
import { ErrorNotice, Notice } from '../../ui/notice.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { useTitle } from '../../ui/title.ts';
import { toVisibleText } from '../../ui/visible-characters.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import { RequesterPath } from '../../ui/who.tsx';
import { useMe } from '../session/session.tsx';
import {
  cardWords,
  hasFailedAtService,
  isSampleCall,
  isUnderWay,
  mayDecide,
  progressOf,
} from './approval-view.ts';
import { DecisionBar } from './decision-bar.tsx';
import { CallAccount } from './credentials.tsx';
import { Destination } from './destination.tsx';
import { DisclosedFields } from './disclosed-fields.tsx';
import { RefusedNotice } from './refused-notice.tsx';
import { RequestDetails } from './request-details.tsx';
import { hasUnseenCharacters } from './request-view.ts';
import { isTooLarge } from './second-gesture.ts';
import { ServiceDetails } from './service-details.tsx';
import { Outcome } from './outcome.tsx';
import { RiskBadge, riskBandClassOf } from './risk-badge.tsx';
import { useDecision } from './use-decision.ts';

/**
 * The card of an approval. Without a click it shows, in this order: the risk, who asks, for what,
 * on which account, the first disclosed fields, the time left to decide, and the decision.
 */
export function ApprovalCard(props: { approval: ApprovalResponse; isStale: boolean }) {
  const me = useMe();
  const decision = useDecision(() => props.approval);
  const stageWords = () => cardWords[progressOf(props.approval)];
  const doesWords = () =>
    hasFailedAtService(props.approval.execution) ? 'What it tried to do' : stageWords().does;
  const permission = () => mayDecide(me(), props.approval);
  const isOfEarlierVersion = () => props.approval.unverified === 'earlier_version';
  const hidesText = createMemo(() => hasUnseenCharacters(props.approval.request));
  let outcomeElement: HTMLDivElement | undefined;

  useTitle(() => toVisibleText(props.approval.action_description).slice(0, 80));
  // After a decision the focus moves to the outcome, whichever element of the card had it.
  const isDoneHere = createMemo(() => decision.isDecidedHere() && !isOpenApproval(props.approval));
  createEffect(() => {
    if (!isDoneHere()) return;
    requestAnimationFrame(() => {
      outcomeElement?.focus({ preventScroll: true });
      outcomeElement?.scrollIntoView({ block: 'nearest' });
    });
  });

  return (
    <article
      class={`rounded-2xl border border-t-4 border-line bg-surface shadow-sm ${riskBandClassOf(props.approval.risk)}`}
      aria-labelledby="card-title"
      aria-busy={decision.deciding.isPending}
    >
      <header class="px-4 pt-2 pb-3 sm:px-6 sm:pt-4 sm:pb-5">
        <div class="mb-2 flex items-center justify-between gap-3 sm:mb-3">
          <RiskBadge risk={props.approval.risk} />
          <span class="text-sm whitespace-nowrap text-ink-soft">
            <span class="max-sm:sr-only">asked </span>
            <TimeAgo at={props.approval.created_at} />
          </span>
        </div>
        <RequesterPath requester={props.approval.requester} wantsWords={stageWords().wants} />
        <h1
          id="card-title"
          class="mt-2 text-lg leading-snug font-semibold sm:mt-4 sm:text-2xl"
          dir="auto"
          tabindex="-1"
        >
          <VisibleText text={props.approval.action_description} />
        </h1>
        <div class="flex flex-wrap items-end gap-x-3">
          <CallAccount
            credentials={props.approval.request.credentials}
            isRecorded={!isOfEarlierVersion()}
          />
          <Show when={isSampleCall(props.approval)}>
            <Chip>Sample</Chip>
          </Show>
        </div>
        <Destination request={props.approval.request} />
        <Show when={hidesText()}>
          <p class="mt-2 flex gap-2 font-medium text-medium">
            <Icon name="alert" class="mt-0.5 size-5 shrink-0" />
            It contains invisible characters, shown here as {'\\u202e'} or U+202E. They can make
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
      <Show when={isOpenApproval(props.approval) || isUnderWay(props.approval)}>
        <RefusedNotice approval={props.approval} />
      </Show>
      <Show when={!props.approval.verified}>
        <div class="px-4 pb-4 sm:px-6">
          <UnverifiedNotice
            isEarlierVersion={isOfEarlierVersion()}
            isOpen={isOpenApproval(props.approval)}
          />
        </div>
      </Show>
      <Show when={!isOpenApproval(props.approval)}>
        <div
          ref={(element) => (outcomeElement = element)}
          tabindex="-1"
          class="scroll-mt-16 px-4 pb-5 sm:px-6"
        >
          <Outcome approval={props.approval} decision={decision} />
        </div>
      </Show>

      <div class="divide-y divide-line border-t border-line [&_button]:scroll-mb-40 [&_summary]:scroll-mb-40">
        <DisclosedFields title={doesWords()} fields={props.approval.disclosed} />
        <RequestDetails
          request={props.approval.request}
          exposureWarning={stageWords().exposureWarning}
          isRecorded={!isOfEarlierVersion()}
          isOpen={isOpenApproval(props.approval)}
        />
        <ServiceDetails approval={props.approval} keysTitle={stageWords().keys} />
      </div>

      <Show when={decision.error()}>
        {(error) => (
          <div class="px-4 pb-4 sm:px-6">
            <ErrorNotice error={error()} />
          </div>
        )}
      </Show>
      <Show when={isOpenApproval(props.approval)}>
        <Show
          when={permission().isAllowed}
          fallback={
            <p class="flex items-center gap-2 border-t border-line px-4 py-4 text-ink-soft sm:px-6">
              <Icon name="eye" /> {permission().refusalReason}
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

/**
 * Says why this approval cannot be allowed: an earlier version of the gateway created its card, or
 * the card is not proven to be the one that was created when the call was suspended.
 */
function UnverifiedNotice(props: { isEarlierVersion: boolean; isOpen: boolean }) {
  return (
    <Show
      when={props.isEarlierVersion}
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
