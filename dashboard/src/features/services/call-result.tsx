import { A } from '@solidjs/router';
import { For, Match, Show, Switch } from 'solid-js';

import { LongText } from '../../ui/long-text.tsx';
import { Notice } from '../../ui/notice.tsx';
import { formatDuration } from '../../ui/time-text.ts';
import { VisibleText } from '../../ui/visible-text.tsx';
import type { CallAnswer } from './services.queries.ts';

type CalledAnswer = Extract<CallAnswer, { status: 'called' }>;

const omittedWords = {
  too_large: 'too large',
  encoded: 'compressed in a way that was not asked for',
  not_stored: 'there was no room to keep it',
  incomplete: 'it broke off',
} as const;

/** The result of a call that the person made, as plain text. */
export function CallResult(props: { service: string; answer: CallAnswer }) {
  return (
    <Switch>
      <Match when={props.answer.status === 'called' && props.answer}>
        {(answer) => <Answer service={props.service} answer={answer()} />}
      </Match>
      <Match when={props.answer.status === 'denied' && props.answer}>
        {(answer) => (
          <Notice tone="bad">
            <p class="font-semibold">It was refused; nothing was sent</p>
            <p class="mt-1">
              <VisibleText text={answer().reason} />
            </p>
          </Notice>
        )}
      </Match>
      <Match when={props.answer.status === 'pending_approval' && props.answer}>
        {(answer) => (
          <Notice tone="info">
            It waits for an approval.{' '}
            <A
              href={`/approvals/${answer().approval_id}`}
              class="font-semibold underline underline-offset-4"
            >
              See it
            </A>
          </Notice>
        )}
      </Match>
    </Switch>
  );
}

function Answer(props: { service: string; answer: CalledAnswer }) {
  const result = () => props.answer.result;
  const files = () => [
    ...(result().file === undefined ? [] : [result().file]),
    ...(result().files ?? []),
  ];
  return (
    <Notice tone={result().failure === undefined ? 'good' : 'warning'}>
      <p class="font-semibold wrap-anywhere">
        <Show
          when={result().failure}
          fallback={<VisibleText text={props.answer.action_description} />}
        >
          Failed at <VisibleText text={props.service} />
        </Show>
      </p>
      <p class="text-sm">
        <VisibleText text={props.service} /> answered {result().status_code} in{' '}
        {formatDuration(result().duration_ms)}.
      </p>
      <Show when={result().failure}>
        {(failure) => (
          <p class="mt-1">
            <VisibleText text={failure().message} />
          </p>
        )}
      </Show>
      <Show when={result().body_omitted}>
        {(omitted) => (
          <p class="mt-1 text-sm">
            The answer is not shown: {omittedWords[omitted().reason]} (
            <VisibleText text={omitted().content_type} />
            ).
          </p>
        )}
      </Show>
      <Show when={(result().body ?? null) !== null}>
        <LongText
          class="mt-2 rounded-lg bg-surface p-3 font-mono text-sm"
          text={textOf(result().body)}
          charactersMax={2000}
          linesMax={24}
        />
      </Show>
      <For each={files()}>
        {(file) => (
          <Show when={file}>
            {(known) => (
              <p class="mt-1 text-sm">
                <a class="underline" href={known().download_url} rel="noreferrer">
                  Download <VisibleText text={known().name} />
                </a>{' '}
                (<VisibleText text={known().content_type} />, kept for an hour)
              </p>
            )}
          </Show>
        )}
      </For>
    </Notice>
  );
}

const textOf = (body: unknown): string =>
  typeof body === 'string' ? body : JSON.stringify(body, null, 2);
