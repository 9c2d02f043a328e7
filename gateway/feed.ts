import type { Bus } from '#bus';
import { feedItem, feedSubject } from '#contracts/events';
import type { FeedItem } from '#contracts/events';
import { onEvents } from '#events';
import type { Logger } from '#telemetry';

type Listener = (item: FeedItem | null) => void;

export interface Feed extends Disposable {
  /** Hears every item from now on, of every org: whoever passes it on checks who may see it. `null`: items may have been missed. */
  subscribe(listener: Listener): Disposable;
}

/** Opens one core subscription for all SSE readers and waiting calls of this gateway (docs/reference/events.md#sse). */
export function openFeed(bus: Bus, logger: Logger): Feed {
  const listeners = new Set<Listener>();
  const tell = (item: FeedItem | null) => {
    for (const listener of listeners) listener(item);
  };
  let newest: number | null = null;
  const listening = onEvents(bus, [feedSubject], (message) => {
    if (message === null) return tell(null);
    const parsed = feedItem.safeParse(message.body);
    if (parsed.success) {
      const { position } = parsed.data;
      // Positions follow one another: what is left out was stored, and whoever stored it could not
      // say so any more. (Or it says so later, or there never was such an item: looking is cheap.)
      if (newest !== null && position > newest + 1) tell(null);
      newest = Math.max(newest ?? 0, position);
      tell(parsed.data);
    } else logger.error({ issues: parsed.error.issues.slice(0, 3) }, 'feed item is malformed');
  });
  return {
    subscribe(listener) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    [Symbol.dispose]() {
      listeners.clear();
      listening[Symbol.dispose]();
    },
  };
}
