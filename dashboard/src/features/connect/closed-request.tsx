import { Show } from 'solid-js';

import type { ServiceRequest } from '#contracts/http/requests';
import { ButtonLink } from '../../ui/button.tsx';
import { Icon } from '../../ui/icon.tsx';
import type { IconName } from '../../ui/icon.tsx';
import { TimeAgo } from '../../ui/times.tsx';
import { VisibleText } from '../../ui/visible-text.tsx';
import { answeredWords, subjectOf } from './request-words.ts';

const closedWords = {
  ready: { icon: 'check', title: null },
  declined: { icon: 'cross', title: 'was declined' },
  expired: { icon: 'clock', title: 'was not answered in time' },
  cancelled: { icon: 'cross', title: 'is no longer asked for' },
} as const satisfies Record<
  Exclude<ServiceRequest['status'], 'open'>,
  { icon: IconName; title: string | null }
>;

/** Shows how a request ended. Nobody can answer it any more. */
export function ClosedRequest(props: { request: ServiceRequest }) {
  const words = () => (props.request.status === 'open' ? null : closedWords[props.request.status]);
  return (
    <section class="rounded-2xl border border-t-4 border-line border-t-line-strong bg-surface px-4 py-6 shadow-sm sm:px-6">
      <h1 class="flex items-center gap-2 text-xl font-semibold sm:text-2xl">
        <Icon name={words()?.icon ?? 'clock'} class="size-6 shrink-0" />
        <span>
          <VisibleText text={subjectOf(props.request)} />{' '}
          {words()?.title ?? answeredWords(props.request)}
        </span>
      </h1>
      <p class="mt-3 text-ink-soft">
        <VisibleText text={props.request.requester.name} /> asked for it{' '}
        <TimeAgo at={props.request.created_at} inSentence />.
        <Show when={props.request.decided_by}>
          {(person) => (
            <>
              {' '}
              <VisibleText text={person().name} /> answered.
            </>
          )}
        </Show>
      </p>
      <Show when={props.request.decline_reason}>
        {(reason) => (
          <blockquote class="mt-3 border-l-4 border-line pl-3 break-words">
            <VisibleText text={reason()} />
          </blockquote>
        )}
      </Show>
      <p class="mt-3">{describeWhatNow(props.request)}</p>
      <Show when={props.request.kind === 'service' && props.request.status !== 'ready'}>
        <ButtonLink
          class="mt-6"
          rel=""
          href={`/services/new?template=${encodeURIComponent(props.request.template?.key ?? '')}`}
        >
          Connect it anyway
        </ButtonLink>
      </Show>
    </section>
  );
}

function describeWhatNow({ status }: ServiceRequest): string {
  if (status === 'ready') return 'There is nothing left to do here; the agent has been told.';
  if (status === 'declined') return 'The agent has been told. Nothing was done.';
  return 'Nothing was done. The agent can ask again.';
}
