import { useMutation, useQuery, useQueryClient } from '@tanstack/solid-query';
import { For, Match, Show, Switch, createSignal } from 'solid-js';

import type { ApprovalResponse } from '#contracts/http/approvals';
import { announce } from '../../../ui/announcer.tsx';
import { Button } from '../../../ui/button.tsx';
import { LongText } from '../../../ui/long-text.tsx';
import { ErrorNotice, Notice } from '../../../ui/notice.tsx';
import { Countdown, TimeAgo } from '../../../ui/times.tsx';
import { VisibleText } from '../../../ui/visible-text.tsx';
import { useMe } from '../../session/session.tsx';
import { callsText, mayStop, usageOf, wordsOf } from './planted-rules-view.ts';
import { plantedRulesQuery, stopPlantedRules } from './planted-rules.queries.ts';
import type { PlantedRule } from './planted-rules.queries.ts';

/** Shows what the decision allows from now on, and the button that ends it. */
export function PlantedRules(props: { approval: ApprovalResponse }) {
  const me = useMe();
  const queryClient = useQueryClient();
  const rules = useQuery(() => plantedRulesQuery(props.approval.id));
  const [isAsked, setAsked] = createSignal(false);
  let stopButton: HTMLButtonElement | undefined;
  let stoppedElement: HTMLDivElement | undefined;
  const stopping = useMutation(() => ({
    mutationFn: () => stopPlantedRules(props.approval.id),
    onSuccess: () => {
      announce('No longer allowed.');
      requestAnimationFrame(() => stoppedElement?.focus());
    },
    onSettled: () => {
      setAsked(false);
      return queryClient.invalidateQueries({
        queryKey: plantedRulesQuery(props.approval.id).queryKey,
      });
    },
  }));

  return (
    <Switch>
      <Match when={stopping.data}>
        {(stopped) => (
          <div ref={(element) => (stoppedElement = element)} tabindex="-1">
            <Stopped rules={stopped()} />
          </div>
        )}
      </Match>
      <Match when={rules.data?.length === 0}>
        <p class="px-1 text-sm text-ink-soft">
          What was remembered with it is no longer allowed: it has expired, or somebody stopped it.
        </p>
      </Match>
      <Match when={rules.data}>
        {(planted) => (
          <section class="rounded-lg border border-line-strong p-4" aria-label="What it allows">
            <h2 class="font-semibold">Allowed without asking</h2>
            <RuleList rules={planted()} approval={props.approval} />
            <Usage rules={planted()} />
            <Show when={stopping.error}>
              {(error) => (
                <div class="mt-3">
                  <ErrorNotice error={error()} />
                </div>
              )}
            </Show>
            <Show when={mayStop(me(), props.approval)}>
              <Show
                when={isAsked()}
                fallback={
                  <Button
                    ref={(button) => (stopButton = button)}
                    class="mt-3"
                    onClick={() => setAsked(true)}
                  >
                    Stop allowing
                  </Button>
                }
              >
                <StopQuestion
                  name={props.approval.placement.name}
                  isBusy={stopping.isPending}
                  onYes={() => stopping.mutate()}
                  onBack={() => {
                    setAsked(false);
                    stopButton?.focus();
                  }}
                />
              </Show>
            </Show>
          </section>
        )}
      </Match>
      <Match when={rules.error}>
        {(error) => <ErrorNotice error={error()} onRetry={() => void rules.refetch()} />}
      </Match>
    </Switch>
  );
}

function RuleList(props: { rules: readonly PlantedRule[]; approval: ApprovalResponse }) {
  return (
    <ul class="mt-1 grid gap-2">
      <For each={props.rules}>
        {(rule) => (
          <li>
            <VisibleText text={wordsOf(rule, props.approval)} />
            <span class="block text-sm text-ink-soft">
              <Show when={rule.expires_at} fallback="until somebody stops it">
                {(at) => <Countdown endsAt={at()} textAfter="left" />}
              </Show>
            </span>
            <Show when={wordsOf(rule, props.approval) !== rule.pattern}>
              <details class="text-sm text-ink-soft">
                <summary class="min-h-8 rounded">Details</summary>
                <LongText class="font-mono" text={rule.pattern} charactersMax={200} linesMax={3} />
              </details>
            </Show>
          </li>
        )}
      </For>
    </ul>
  );
}

function Usage(props: { rules: readonly PlantedRule[] }) {
  const usage = () => usageOf(props.rules);
  return (
    <p class="mt-2 text-sm text-ink-soft">
      <Show when={usage().count > 0} fallback="No other call has used it yet.">
        It has covered {callsText(usage().count)} since
        <Show when={usage().lastAt}>
          {(at) => (
            <>
              , the last <TimeAgo at={at()} inSentence />
            </>
          )}
        </Show>
        .
      </Show>
    </p>
  );
}

/** Asks before the rules are deleted, and says what will change. */
function StopQuestion(props: {
  name: string;
  isBusy: boolean;
  onYes: () => void;
  onBack: () => void;
}) {
  let question: HTMLParagraphElement | undefined;
  requestAnimationFrame(() => question?.focus());
  return (
    <div
      role="group"
      aria-labelledby="stop-question"
      class="mt-3"
      onKeyDown={(event) => {
        if (event.key === 'Escape' && !props.isBusy) props.onBack();
      }}
    >
      <p
        id="stop-question"
        ref={(element) => (question = element)}
        tabindex="-1"
        class="font-medium"
      >
        Stop allowing this? Each such call of <VisibleText text={props.name} /> will be asked about
        again. What already ran stays done.
      </p>
      <div class="mt-3 flex flex-wrap gap-2">
        <Button disabled={props.isBusy} onClick={() => props.onBack()}>
          Go back
        </Button>
        <Button look="danger" disabled={props.isBusy} onClick={() => props.onYes()}>
          {props.isBusy ? 'Stopping…' : 'Yes, stop allowing'}
        </Button>
      </div>
    </div>
  );
}

function Stopped(props: { rules: readonly PlantedRule[] }) {
  return (
    <Notice tone="info">
      <p class="font-semibold">No longer allowed: such calls are asked about again</p>
      <Show
        when={usageOf(props.rules).count > 0}
        fallback={<p class="mt-1">No other call had used it.</p>}
      >
        <Usage rules={props.rules} />
        <p class="mt-1">What ran stays done.</p>
      </Show>
    </Notice>
  );
}
