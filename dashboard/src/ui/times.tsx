import { createEffect, createMemo, untrack } from 'solid-js';

import { useNowMs } from './clock.ts';
import { Icon } from './icon.tsx';
import { formatAgo, formatCountdown, widestAgoMs, widestLeftMs } from './time-text.ts';

const urgentBelowMs = 5 * 60_000;

/** The time left until `endsAt`, by the gateway's clock. In the last minutes it is highlighted. */
export function Countdown(props: {
  endsAt: string;
  textAfter?: string;
  class?: string;
  onEnd?: () => void;
}) {
  const nowMs = useNowMs();
  const leftMs = () => Date.parse(props.endsAt) - nowMs();
  const textOf = (ms: number) =>
    props.textAfter === undefined
      ? formatCountdown(ms)
      : `${formatCountdown(ms)} ${props.textAfter}`;
  const isOver = createMemo(() => leftMs() <= 0);

  createEffect(() => {
    if (isOver()) untrack(() => props.onEnd?.());
  });
  return (
    <span
      role="timer"
      class="inline-flex items-center gap-1 whitespace-nowrap tabular-nums"
      classList={{
        [props.class ?? '']: props.class !== undefined,
        'font-semibold text-high': leftMs() < urgentBelowMs,
        'text-ink-soft': leftMs() >= urgentBelowMs,
      }}
      title={new Date(props.endsAt).toLocaleString()}
    >
      <Icon name="clock" class="size-4 shrink-0" />
      <span class="steady" data-widest={textOf(widestLeftMs(leftMs()))}>
        {textOf(leftMs())}
      </span>
    </span>
  );
}

/**
 * How long ago something happened. During the first hour the element is as wide as its longest
 * text, so that nothing beside it moves when the minute changes. With `side="end"`, for a time at
 * the end of a line, the text is aligned to the right. With `inSentence`, for a time before a full
 * stop, the element is only as wide as its text.
 */
export function TimeAgo(props: { at: string; side?: 'end'; inSentence?: boolean }) {
  const nowMs = useNowMs();
  const agoMs = () => nowMs() - Date.parse(props.at);
  const isSteady = () =>
    props.side === 'end' || (props.inSentence !== true && agoMs() <= widestAgoMs);
  return (
    <time
      class="tabular-nums"
      classList={{ steady: isSteady(), 'steady-at-end': props.side === 'end' }}
      data-widest={formatAgo(widestAgoMs)}
      dateTime={props.at}
      title={new Date(props.at).toLocaleString()}
    >
      {formatAgo(agoMs())}
    </time>
  );
}
