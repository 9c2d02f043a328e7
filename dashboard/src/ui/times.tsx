import { Show, createEffect, createMemo, untrack } from 'solid-js';

import { useNowMs } from './clock.ts';
import { Icon } from './icon.tsx';
import { formatAgo, formatCountdown } from './time-text.ts';

const urgentBelowMs = 5 * 60_000;

/** The time left by the gateway's clock. It looks urgent in its last minutes. */
export function Countdown(props: {
  endsAt: string;
  textAfter?: string;
  class?: string;
  onEnd?: () => void;
}) {
  const nowMs = useNowMs();
  const leftMs = () => Date.parse(props.endsAt) - nowMs();

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
      <span>
        {formatCountdown(leftMs())}
        <Show when={props.textAfter}>{(after) => ` ${after()}`}</Show>
      </span>
    </span>
  );
}

export function TimeAgo(props: { at: string }) {
  const nowMs = useNowMs();
  return (
    <time dateTime={props.at} title={new Date(props.at).toLocaleString()}>
      {formatAgo(nowMs() - Date.parse(props.at))}
    </time>
  );
}
