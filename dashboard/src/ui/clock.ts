import { createSignal, onCleanup } from 'solid-js';

import { serverNowMs } from '../api/server-clock.ts';

const [nowMs, setNowMs] = createSignal(serverNowMs());
let readerCount = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** The gateway's time, updated every second while a component uses it. */
export function useNowMs(): () => number {
  readerCount += 1;
  setNowMs(serverNowMs());
  timer ??= setInterval(() => setNowMs(serverNowMs()), 1000);
  onCleanup(() => {
    readerCount -= 1;
    if (readerCount > 0) return;
    clearInterval(timer);
    timer = undefined;
  });
  return nowMs;
}
