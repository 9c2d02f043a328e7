import type { FeedItem } from '#contracts/events';
import type { CallDeps } from './incoming-call.ts';

export interface FeedChanges extends Disposable {
  /** Resolves when there was a change since the last call of `next`, or after `timeoutMs`. */
  next(timeoutMs: number): Promise<void>;
}

/**
 * Watches the feed for items that concern what a caller is waiting for. Also wakes the caller when
 * items may have been missed, when its client disconnects, and when the gateway stops.
 */
export function watchFeed(
  deps: Pick<CallDeps, 'feed' | 'stopping'>,
  disconnectSignal: AbortSignal,
  isRelevant: (item: FeedItem) => boolean,
): FeedChanges {
  let hasChanged = false;
  let wake: (() => void) | undefined;
  const noteChange = () => {
    hasChanged = true;
    wake?.();
  };
  const subscription = deps.feed.subscribe((item) => {
    if (item === null || isRelevant(item)) noteChange();
  });
  const endSignals = [disconnectSignal, deps.stopping];
  for (const endSignal of endSignals) endSignal.addEventListener('abort', noteChange);
  return {
    async next(timeoutMs) {
      if (!hasChanged) {
        let timer: NodeJS.Timeout | undefined;
        await new Promise<void>((resolve) => {
          wake = resolve;
          timer = setTimeout(resolve, timeoutMs);
        });
        clearTimeout(timer);
        wake = undefined;
      }
      hasChanged = false;
    },
    [Symbol.dispose]() {
      subscription[Symbol.dispose]();
      for (const endSignal of endSignals) endSignal.removeEventListener('abort', noteChange);
    },
  };
}
