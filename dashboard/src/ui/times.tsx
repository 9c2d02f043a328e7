import { Show, createEffect, createMemo, untrack } from 'solid-js';

import { useNowMs } from './clock.ts';
import { Icon } from './icon.tsx';
import { agoText, countdownText } from './time-text.ts';

const soonMs = 5 * 60_000;

/** The time left on a clock of the gateway; urgent in its last minutes. */
export function Countdown(props: {
  until: string;
  after?: string;
  class?: string;
  onEnd?: () => void;
}) {
  const nowMs = useNowMs();
  const leftMs = () => Date.parse(props.until) - nowMs();

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
        'font-semibold text-high': leftMs() < soonMs,
        'text-ink-soft': leftMs() >= soonMs,
      }}
      title={new Date(props.until).toLocaleString()}
    >
      <Icon name="clock" class="size-4 shrink-0" />
      <span>
        {countdownText(leftMs())}
        <Show when={props.after}>{(after) => ` ${after()}`}</Show>
      </span>
    </span>
  );
}

export function Ago(props: { at: string }) {
  const nowMs = useNowMs();
  return (
    <time dateTime={props.at} title={new Date(props.at).toLocaleString()}>
      {agoText(nowMs() - Date.parse(props.at))}
    </time>
  );
}
