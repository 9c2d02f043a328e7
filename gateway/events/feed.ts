import type { Bus } from '#bus';
import { feedItem, feedSubject } from '#contracts/events';
import type { FeedItem } from '#contracts/events';
import { readTolerantly } from '#contracts/tolerant';
import { onEvents } from '#events';
import type { Logger } from '#telemetry';
import { createListeners } from './listeners.ts';
import type { Listeners } from './listeners.ts';

/**
 * The items of the event feed of every org. Each listener must check who may see an item before it
 * passes the item on. `null` means that items may have been missed.
 */
export type Feed = Pick<Listeners<FeedItem | null>, 'subscribe'> & Disposable;

/**
 * Opens one core subscription of NATS, which all SSE readers and waiting calls of this gateway share
 * (docs/reference/events.md#sse).
 */
export function openFeed(bus: Bus, logger: Logger): Feed {
  const listeners = createListeners<FeedItem | null>();
  let newestPosition: number | null = null;
  const subscription = onEvents(bus, [feedSubject], (message) => {
    if (message === null) return listeners.notify(null);
    const parsedItem = readTolerantly(feedItem, message.body, 'pass');
    if (parsedItem.success) {
      const { position } = parsedItem.data;
      // Positions are consecutive, so a skipped position belongs to an item that was stored but not
      // announced yet. The notifier may have died before the announcement, or may announce the item
      // later. Reading the stored feed again costs little.
      if (newestPosition !== null && position > newestPosition + 1) listeners.notify(null);
      newestPosition = Math.max(newestPosition ?? 0, position);
      listeners.notify(parsedItem.data);
    } else logger.error({ issues: parsedItem.error.issues.slice(0, 3) }, 'feed item is malformed');
  });
  return {
    subscribe: (listener) => listeners.subscribe(listener),
    [Symbol.dispose]() {
      listeners[Symbol.dispose]();
      subscription[Symbol.dispose]();
    },
  };
}
