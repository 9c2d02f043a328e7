import { createSignal, onCleanup } from 'solid-js';

import { serverNowMs } from '../api/server-clock.ts';

const [nowMs, setNowMs] = createSignal(serverNowMs());
let readers = 0;
let timer: ReturnType<typeof setInterval> | undefined;

/** The gateway's time, changing every second as long as somebody on the page reads it. */
export function useNowMs(): () => number {
  readers += 1;
  setNowMs(serverNowMs());
  timer ??= setInterval(() => setNowMs(serverNowMs()), 1000);
  onCleanup(() => {
    readers -= 1;
    if (readers > 0) return;
    clearInterval(timer);
    timer = undefined;
  });
  return nowMs;
}
