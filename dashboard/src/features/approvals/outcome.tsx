import { A } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createSignal } from 'solid-js';

import type { ApprovalResponse, Execution } from '#contracts/http/approvals';
import { Button } from '../../ui/button.tsx';
import { Icon, Spinner } from '../../ui/icon.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Notice } from '../../ui/notice.tsx';
import { formatDuration } from '../../ui/time-text.ts';
import { TimeAgo, Countdown } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { AfterSampleCall } from './after-sample-call.tsx';
import {
  describeDecision,
  hasFailedAtService,
  isSampleCall,
  sortIntoQueue,
  mayDecide,
  serviceOf,
  waitsToBeRun,
} from './approval-view.ts';
import { openApprovalsQuery } from './approvals.queries.ts';
import { Confirmation } from './confirmation.tsx';
import { PlantedRules } from './rules/planted-rules.tsx';
import type { useDecision } from './use-decision.ts';

type DecisionState = ReturnType<typeof useDecision>;

/**
 * Shows the decision, who made it, and the outcome. The outcome is updated until the replay has
 * ended.
 */
export function Outcome(props: { approval: ApprovalResponse; decision: DecisionState }) {
  const me = useMe();
  const tone = () => {
    if (props.approval.status === 'allowed') return 'good' as const;
    return props.approval.status === 'denied' ? ('bad' as const) : ('warning' as const);
  };
  return (
    <div class="grid grid-cols-[minmax(0,1fr)] gap-3">
      <Show when={props.decision.isDecidedElsewhere()}>
        <p class="text-sm font-medium text-medium">
          This was decided while you had it open; nothing of yours was applied.
        </p>
      </Show>
      <Notice tone={tone()}>
        <p class="font-semibold">
          <VisibleText text={describeDecision(props.approval, me().id)} />
          <Show when={props.approval.resolution === 'allow_remember'}>, and remembered</Show>
          <Show when={props.approval.resolved_at}>
            {(at) => (
              <span class="font-normal">
                {' '}
                · <TimeAgo at={at()} />
              </span>
            )}
          </Show>
        </p>
        <Show when={props.approval.reason !== 'cancelled' ? props.approval.reason : null}>
          {(reason) => <LongText class="mt-1" text={`“${reason()}”`} />}
        </Show>
        <Show when={props.decision.cascadedCount()}>
          {(count) => (
            <p class="mt-1">
              {count() === 1 ? 'One more waiting call was' : `${count()} more waiting calls were`}{' '}
              allowed with it.
            </p>
          )}
        </Show>
      </Notice>
      <Show when={props.approval.status === 'allowed' && props.approval.execution}>
        {(execution) => (
          <Replay approval={props.approval} execution={execution()} decision={props.decision} />
        )}
      </Show>
      <Show when={props.approval.resolution === 'allow_remember'}>
        <PlantedRules approval={props.approval} />
      </Show>
      <Show when={isSampleCall(props.approval)}>
        <AfterSampleCall isPinned={props.approval.execution?.status === 'executed'} />
      </Show>
      <NextLink currentId={props.approval.id} />
    </div>
  );
}

function Replay(props: {
  approval: ApprovalResponse;
  execution: Execution;
  decision: DecisionState;
}) {
  const me = useMe();
  const isToRun = () => waitsToBeRun(props.approval);
  return (
    <Switch>
      <Match when={isToRun()}>
        <Notice tone="info">
          <p>
            Runs when <VisibleText text={props.approval.requester.name} /> asks for it again.{' '}
            <Countdown endsAt={props.execution.expires_at} textAfter="left" />
          </p>
          <Show when={mayDecide(me(), props.approval).isAllowed}>
            <RunOrStop approval={props.approval} decision={props.decision} />
          </Show>
        </Notice>
      </Match>
      <Match when={['pending', 'executing'].includes(props.execution.status)}>
        <p class="flex items-center gap-3 px-1 py-2" role="status">
          <Spinner /> Running the call…
        </p>
      </Match>
      <Match when={props.execution.status === 'executed'}>
        <ExecutionSummary service={serviceOf(props.approval)} execution={props.execution} />
      </Match>
      <Match when={props.execution.error?.error === 'outcome_unknown'}>
        <Notice tone="warning">
          <p class="font-semibold">It is not known whether this happened</p>
          <p class="mt-1">
            The request left, but no answer came back. Look at{' '}
            <VisibleText text={serviceOf(props.approval)} /> before anybody tries again; the gateway
            will not.
          </p>
        </Notice>
      </Match>
      <Match when={props.execution.status === 'failed'}>
        <Notice tone="bad">
          <p class="font-semibold">The call failed; nothing was changed</p>
          <p class="mt-1">
            <VisibleText text={props.execution.error?.message ?? 'No reason was given.'} />{' '}
            <code class="font-mono text-sm">{props.execution.error?.error}</code>
          </p>
        </Notice>
      </Match>
      <Match when={props.execution.status === 'cancelled'}>
        <Notice tone="warning">The call was stopped before it ran.</Notice>
      </Match>
      <Match when={props.execution.status === 'expired'}>
        <Notice tone="warning">The call was not run in time, and will not be.</Notice>
      </Match>
    </Switch>
  );
}

/**
 * The buttons for an allowed call that waits to be run. A person can run it (with a second click if
 * it cannot be undone) or stop it.
 */
function RunOrStop(props: { approval: ApprovalResponse; decision: DecisionState }) {
  const [isAsked, setAsked] = createSignal(false);
  let runButton: HTMLButtonElement | undefined;
  const run = () => props.decision.running.mutate({ id: props.approval.id });
  return (
    <div class="mt-3">
      <Show
        when={isAsked()}
        fallback={
          <div class="flex flex-wrap gap-2">
            <Button
              ref={(button) => (runButton = button)}
              look={props.approval.risk === 'high' ? 'danger' : 'primary'}
              disabled={props.decision.running.isPending}
              onClick={() => (props.approval.risk === 'high' ? setAsked(true) : run())}
            >
              {props.decision.running.isPending ? 'Running…' : 'Run it now'}
            </Button>
            <Button
              disabled={props.decision.stopping.isPending}
              onClick={() => props.decision.stopping.mutate({ id: props.approval.id })}
            >
              Stop it
            </Button>
          </div>
        }
      >
        <Confirmation
          approval={props.approval}
          firstGestureSide="left"
          isBusy={props.decision.running.isPending}
          onYes={run}
          onBack={() => {
            setAsked(false);
            runButton?.focus();
          }}
        />
      </Show>
    </div>
  );
}

/** A summary of the service's response. */
function ExecutionSummary(props: { service: string; execution: Execution }) {
  const status = () => props.execution.http_status_code ?? props.execution.result?.status_code;
  const hasFailed = () => hasFailedAtService(props.execution);
  return (
    <Notice tone={hasFailed() ? 'warning' : 'good'}>
      <p class="font-semibold">
        <Show
          when={hasFailed()}
          fallback={
            <>
              <VisibleText text={props.service} /> answered
            </>
          }
        >
          Failed at <VisibleText text={props.service} />: it answered
        </Show>{' '}
        {status() ?? ''}
        <Show when={props.execution.result}>
          {(result) => <span class="font-normal"> in {formatDuration(result().duration_ms)}</span>}
        </Show>
        <Show when={props.execution.finished_at}>
          {(at) => (
            <span class="font-normal">
              {' '}
              · <TimeAgo at={at()} />
            </span>
          )}
        </Show>
      </p>
      <Show when={props.execution.result?.failure}>
        {(failure) => (
          <p class="mt-1">
            <VisibleText text={failure().message} />
          </p>
        )}
      </Show>
      <Show when={props.execution.result}>
        {(result) => (
          <Show
            when={result().body_omitted}
            fallback={
              <Show when={result().filtered_body ?? result().body}>
                {(body) => (
                  <LongText
                    class="mt-2 rounded-lg bg-surface p-3 font-mono text-sm"
                    text={bodyTextOf(body())}
                    charactersMax={800}
                    linesMax={12}
                  />
                )}
              </Show>
            }
          >
            {(omittedBody) => (
              <p class="mt-1 text-sm">
                The answer is not shown: {omittedWords[omittedBody().reason]} (
                <VisibleText text={omittedBody().content_type} />
                ).
              </p>
            )}
          </Show>
        )}
      </Show>
      <For each={filesOf(props.execution.result)}>
        {(file) => (
          <p class="mt-1 text-sm">
            <a class="underline" href={file.download_url} rel="noreferrer">
              Download <VisibleText text={file.name} />
            </a>{' '}
            (<VisibleText text={file.content_type} />, kept for an hour)
          </p>
        )}
      </For>
    </Notice>
  );
}

const omittedWords = {
  too_large: 'too large',
  encoded: 'compressed in a way that was not asked for',
  not_stored: 'there was no room to keep it',
  incomplete: 'it broke off',
} as const;

/** The files in a response: its body, and files inside the body. */
function filesOf(result: Execution['result']) {
  return [...(result?.file === undefined ? [] : [result.file]), ...(result?.files ?? [])];
}

function bodyTextOf(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body, null, 2);
}

function NextLink(props: { currentId: string }) {
  const me = useMe();
  const openApprovals = useQuery(() => openApprovalsQuery());
  const nextApproval = () => {
    const { mine, others } = sortIntoQueue(openApprovals.data?.items ?? [], me().id);
    return [...mine, ...others].find(({ id }) => id !== props.currentId);
  };
  return (
    <Show when={nextApproval()}>
      {(approval) => (
        <A
          href={`/approvals/${approval().id}`}
          class="flex min-h-11 items-center gap-2 rounded-lg border border-line-strong bg-surface px-4 py-2 font-medium hover:bg-sunken"
        >
          <span class="shrink-0 text-ink-soft">Next:</span>
          <span class="min-w-0 grow truncate">
            <VisibleText text={approval().action_description} />
          </span>
          <Icon name="back" class="size-5 shrink-0 rotate-180" />
        </A>
      )}
    </Show>
  );
}
