import { Dialog } from '@kobalte/core/dialog';
import { useQueries, useQueryClient } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createMemo, createSignal, createUniqueId } from 'solid-js';

import { isOpenApproval } from '#contracts/approval-status';
import type { ApprovalResponse, ResolveApprovalBody } from '#contracts/http/approvals';
import { isApiError } from '../../../api/client.ts';
import { announce } from '../../../ui/announcer.tsx';
import { createArmed } from '../../../ui/armed.ts';
import { Button } from '../../../ui/button.tsx';
import { fieldLook } from '../../../ui/field.tsx';
import { Icon } from '../../../ui/icon.tsx';
import { LongText } from '../../../ui/long-text.tsx';
import { VisibleText } from '../../../ui/visible-text.tsx';
import { useMe } from '../../session/session.tsx';
import { describeDecision, serviceOf } from '../approval-view.ts';
import { approvalKeys, approvalQuery, resolveApproval } from '../approvals.queries.ts';
import { compareCalls, runBounded, shownCommonFields } from './batch-view.ts';
import type { ComparedField } from './batch-view.ts';

/** How many decisions are sent at the same time. */
const decidingAtOnce = 4;
const reasonCharactersMax = 500;

/**
 * Shows every selected call. A decision applies to those that are still open, and no rule is
 * created.
 */
export function BatchSheet(props: {
  selected: readonly ApprovalResponse[];
  isOpen: boolean;
  onClose: () => void;
}) {
  return (
    <Dialog open={props.isOpen} onOpenChange={(isOpen) => !isOpen && props.onClose()}>
      <Dialog.Portal>
        <Dialog.Overlay class="fixed inset-0 z-40 bg-shade" />
        <div class="fixed inset-0 z-50 grid place-items-end sm:place-items-center sm:p-4">
          <Dialog.Content class="flex max-h-[95dvh] w-full max-w-2xl flex-col rounded-t-2xl border border-line bg-surface shadow-xl sm:rounded-2xl">
            <Calls selected={props.selected} onClose={props.onClose} />
          </Dialog.Content>
        </div>
      </Dialog.Portal>
    </Dialog>
  );
}

function Calls(props: { selected: readonly ApprovalResponse[]; onClose: () => void }) {
  const queryClient = useQueryClient();
  const [errors, setErrors] = createSignal<ReadonlyMap<string, string>>(new Map());
  const [isDeciding, setDeciding] = createSignal(false);
  // After every event each call is loaded again, so decisions of other people appear here too.
  const answers = useQueries(() => ({
    queries: props.selected.map((approval) => ({
      ...approvalQuery(approval.id),
      placeholderData: approval,
    })),
  }));
  const approvals = createMemo(() =>
    props.selected.map((selected, at) => answers[at]?.data ?? selected),
  );
  const openApprovals = () => approvals().filter(isOpenApproval);
  const comparison = createMemo(() => compareCalls(props.selected));

  const decide = async (body: ResolveApprovalBody) => {
    if (isDeciding()) return;
    setDeciding(true);
    setErrors(new Map<string, string>());
    await runBounded(openApprovals(), decidingAtOnce, async ({ id }) => {
      try {
        queryClient.setQueryData(approvalKeys.one(id), await resolveApproval({ id, body }));
      } catch (error) {
        if (isApiError(error, 'already_resolved') || isApiError(error, 'expired')) return;
        const message = error instanceof Error ? error.message : 'It could not be sent.';
        setErrors((before) => new Map([...before, [id, message]]));
      }
    });
    await queryClient.invalidateQueries({ queryKey: approvalKeys.all });
    setDeciding(false);
    const decidedCount = props.selected.length - openApprovals().length;
    announce(`${decidedCount} of ${props.selected.length} decided.`);
  };

  return (
    <>
      <div class="flex items-start justify-between gap-3 px-4 pt-4 sm:px-6">
        <Dialog.Title class="text-lg leading-snug font-semibold" tabindex="-1">
          {props.selected.length} calls of{' '}
          <VisibleText text={props.selected[0]?.requester.name ?? ''} /> on{' '}
          <Show when={props.selected[0]}>
            {(first) => <VisibleText text={serviceOf(first())} />}
          </Show>
        </Dialog.Title>
        <Dialog.CloseButton
          class="grid size-11 shrink-0 place-items-center rounded-lg text-ink-soft hover:bg-sunken hover:text-ink"
          aria-label="Close"
        >
          <Icon name="cross" />
        </Dialog.CloseButton>
      </div>
      <div
        class="min-h-0 grow overflow-y-auto px-4 pb-4 sm:px-6"
        tabindex="0"
        role="group"
        aria-label="The calls"
      >
        <Show when={shownCommonFields(comparison()).length > 0}>
          <p class="mt-1 text-sm font-semibold text-ink-soft">The same in all</p>
          <Fields fields={shownCommonFields(comparison())} />
        </Show>
        <ul class="mt-3 divide-y divide-line border-y border-line">
          <For each={approvals()}>
            {(approval) => (
              <li class="py-3">
                <p class="leading-snug font-medium" dir="auto">
                  <VisibleText text={approval.action_description} />
                </p>
                <Fields fields={comparison().differing.get(approval.id) ?? []} isSetOff />
                <Result approval={approval} error={errors().get(approval.id)} />
              </li>
            )}
          </For>
        </ul>
      </div>
      <div class="border-t border-line px-4 py-3 sm:px-6">
        <Show
          when={openApprovals().length > 0}
          fallback={
            <div class="flex flex-wrap items-center justify-between gap-2">
              <p class="font-medium">All of them are decided.</p>
              <Button look="primary" onClick={() => props.onClose()}>
                Close
              </Button>
            </div>
          }
        >
          <BatchBar
            count={openApprovals().length}
            isDeciding={isDeciding()}
            onDecide={(body) => void decide(body)}
          />
        </Show>
      </div>
    </>
  );
}

function Fields(props: { fields: readonly ComparedField[]; isSetOff?: boolean }) {
  return (
    <dl
      class="mt-1 grid gap-1 text-sm"
      classList={{
        'border-l-4 border-medium-band pl-3': props.isSetOff === true && props.fields.length > 0,
      }}
    >
      <For each={props.fields}>
        {({ label, value }) => (
          <div class="grid grid-cols-[7rem_minmax(0,1fr)] gap-x-3">
            <dt class="text-ink-soft">
              <VisibleText text={label.trim()} />
            </dt>
            <dd class="min-w-0 font-medium">
              <LongText text={value} charactersMax={200} linesMax={4} />
            </dd>
          </div>
        )}
      </For>
    </dl>
  );
}

function Result(props: { approval: ApprovalResponse; error: string | undefined }) {
  const me = useMe();
  return (
    <Switch>
      <Match when={!isOpenApproval(props.approval)}>
        <p
          class="mt-1 flex items-center gap-2 text-sm font-semibold"
          classList={{
            'text-accent': props.approval.status === 'allowed',
            'text-high': props.approval.status === 'denied',
            'text-medium': props.approval.status === 'expired',
          }}
        >
          <Icon name={props.approval.status === 'allowed' ? 'check' : 'cross'} class="size-4" />
          <VisibleText text={describeDecision(props.approval, me().id)} />
        </p>
      </Match>
      <Match when={props.error}>
        {(error) => (
          <p class="mt-1 text-sm font-medium text-high" role="alert">
            Not decided: <VisibleText text={error()} />
          </p>
        )}
      </Match>
    </Switch>
  );
}

/** The buttons. Allowing needs a second click. A reason for denying is sent with each call. */
function BatchBar(props: {
  count: number;
  isDeciding: boolean;
  onDecide: (body: ResolveApprovalBody) => void;
}) {
  const [step, setStep] = createSignal<'choice' | 'allow' | 'deny'>('choice');
  const [isArmed, arm] = createArmed();
  const [reason, setReason] = createSignal('');
  const reasonId = createUniqueId();
  const callsText = () => (props.count === 1 ? 'this call' : `these ${props.count} calls`);
  const askToAllow = () => {
    setStep('allow');
    arm();
  };
  const allow = () => {
    setStep('choice');
    props.onDecide({ resolution: 'allow' });
  };
  const deny = (event: Event) => {
    event.preventDefault();
    const givenReason = reason().trim();
    setStep('choice');
    props.onDecide({ resolution: 'deny', ...(givenReason === '' ? {} : { reason: givenReason }) });
  };
  const goBack = () => setStep('choice');

  return (
    <Switch>
      <Match when={step() === 'choice'}>
        <div class="grid grid-cols-2 gap-2 sm:gap-3">
          <Button disabled={props.isDeciding} onClick={() => setStep('deny')}>
            Deny {props.count === 1 ? 'this one' : `these ${props.count}`}
          </Button>
          <Button look="primary" disabled={props.isDeciding} onClick={askToAllow}>
            {props.isDeciding
              ? 'Deciding…'
              : props.count === 1
                ? 'Allow this once'
                : `Allow these ${props.count} once`}
          </Button>
        </div>
      </Match>
      <Match when={step() === 'allow'}>
        <div role="group" aria-labelledby="batch-question">
          <p id="batch-question" class="font-medium">
            Allow {callsText()} once, and remember nothing?
          </p>
          {/* "Go back" is where the first button was, so that a second tap allows nothing. */}
          <div class="mt-3 grid grid-cols-2 gap-2 sm:gap-3">
            <Button look="primary" disabled={!isArmed()} onClick={allow}>
              Yes, allow {props.count === 1 ? 'it' : `all ${props.count}`}
            </Button>
            <Button ref={(button) => queueMicrotask(() => button.focus())} onClick={goBack}>
              Go back
            </Button>
          </div>
        </div>
      </Match>
      <Match when={step() === 'deny'}>
        <form onSubmit={deny}>
          <label for={reasonId} class="font-semibold">
            Why not?{' '}
            <span class="font-normal text-ink-soft">
              The agent reads it with each of them; you may leave it out.
            </span>
          </label>
          <textarea
            ref={(field) => queueMicrotask(() => field.focus())}
            id={reasonId}
            class={`mt-2 ${fieldLook}`}
            rows="2"
            maxLength={reasonCharactersMax}
            value={reason()}
            onInput={(event) => setReason(event.currentTarget.value)}
          />
          <div class="mt-3 grid grid-cols-2 gap-2 sm:gap-3">
            <Button onClick={goBack}>Go back</Button>
            <Button type="submit" look="danger">
              Deny {callsText()}
            </Button>
          </div>
        </form>
      </Match>
    </Switch>
  );
}
