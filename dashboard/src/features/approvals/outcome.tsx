import { A } from '@solidjs/router';
import { useQuery } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createSignal } from 'solid-js';

import type { ApprovalResponse, Execution } from '#contracts/http/approvals';
import { Button } from '../../ui/button.tsx';
import { Icon, Spinner } from '../../ui/icon.tsx';
import { LongText } from '../../ui/long-text.tsx';
import { Notice } from '../../ui/notice.tsx';
import { durationText } from '../../ui/time-text.ts';
import { Ago, Countdown } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { useMe } from '../session/session.tsx';
import { decisionText, inQueueOrder, mayDecide, waitsToBeRun } from './approval-view.ts';
import { openApprovalsQuery } from './approvals.queries.ts';
import { Confirmation } from './confirmation.tsx';
import type { useDecision } from './use-decision.ts';

type Decision = ReturnType<typeof useDecision>;

/** What was decided, by whom, and what came of it, live until the replay has its result. */
export function Outcome(props: { approval: ApprovalResponse; decision: Decision }) {
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
          <VisibleText text={decisionText(props.approval, me().id)} />
          <Show when={props.approval.resolution === 'allow_remember'}>, and remembered</Show>
          <Show when={props.approval.resolved_at}>
            {(at) => (
              <span class="font-normal">
                {' '}
                · <Ago at={at()} />
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
      <NextLink currentId={props.approval.id} />
    </div>
  );
}

function Replay(props: { approval: ApprovalResponse; execution: Execution; decision: Decision }) {
  const me = useMe();
  const isToRun = () => waitsToBeRun(props.approval);
  return (
    <Switch>
      <Match when={isToRun()}>
        <Notice tone="info">
          <p>
            Runs when <VisibleText text={props.approval.requester.name} /> asks for it again.{' '}
            <Countdown until={props.execution.expires_at} after="left" />
          </p>
          <Show when={mayDecide(me(), props.approval).yes}>
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
        <Executed service={props.approval.service} execution={props.execution} />
      </Match>
      <Match when={props.execution.error?.error === 'outcome_unknown'}>
        <Notice tone="warning">
          <p class="font-semibold">It is not known whether this happened</p>
          <p class="mt-1">
            The request left, but no answer came back. Look at{' '}
            <VisibleText text={props.approval.service} /> before anybody tries again; the gateway
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

/** An allowed call that waits: run by a person, which is asked for twice where it cannot be undone, or stopped. */
function RunOrStop(props: { approval: ApprovalResponse; decision: Decision }) {
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
          firstGestureWas="left"
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

/** What the service answered, compact. */
function Executed(props: { service: string; execution: Execution }) {
  const status = () => props.execution.http_status_code ?? props.execution.result?.status_code;
  const isGood = () => (status() ?? 0) < 400;
  return (
    <Notice tone={isGood() ? 'good' : 'warning'}>
      <p class="font-semibold">
        <VisibleText text={props.service} /> answered {status() ?? ''}
        <Show when={props.execution.result}>
          {(result) => <span class="font-normal"> in {durationText(result().duration_ms)}</span>}
        </Show>
        <Show when={props.execution.finished_at}>
          {(at) => (
            <span class="font-normal">
              {' '}
              · <Ago at={at()} />
            </span>
          )}
        </Show>
      </p>
      <Show when={props.execution.result}>
        {(result) => (
          <Show
            when={result().body_omitted}
            fallback={
              <Show when={result().filtered_body ?? result().body}>
                {(body) => (
                  <LongText
                    class="mt-2 rounded-lg bg-surface p-3 font-mono text-sm"
                    text={bodyText(body())}
                    charactersMax={800}
                    linesMax={12}
                  />
                )}
              </Show>
            }
          >
            {(omitted) => (
              <p class="mt-1 text-sm">
                The answer is not shown: {omittedWords[omitted().reason]} (
                <VisibleText text={omitted().content_type} />
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

/** Its body, and what stood in it as bytes. */
function filesOf(result: Execution['result']) {
  return [...(result?.file === undefined ? [] : [result.file]), ...(result?.files ?? [])];
}

function bodyText(body: unknown): string {
  return typeof body === 'string' ? body : JSON.stringify(body, null, 2);
}

function NextLink(props: { currentId: string }) {
  const me = useMe();
  const open = useQuery(() => openApprovalsQuery());
  const next = () => {
    const { mine, others } = inQueueOrder(open.data?.items ?? [], me().id);
    return [...mine, ...others].find(({ id }) => id !== props.currentId);
  };
  return (
    <Show when={next()}>
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
