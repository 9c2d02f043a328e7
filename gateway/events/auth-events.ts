import type { Bus } from '#bus';
import { event } from '#contracts/events';
import type { Event } from '#contracts/events';
import { readTolerantly } from '#contracts/tolerant';
import { onEvents } from '#events';
import { createListeners } from './listeners.ts';
import type { Listeners } from './listeners.ts';

/**
 * The events of every org that auth emits. `null` means that events may have been missed, or that
 * an event could not be read.
 */
export type AuthEvents = Pick<Listeners<Event | null>, 'subscribe'> & Disposable;

/**
 * Opens one subscription to the events of auth for the whole gateway. Calls `onAnyEvent`, which
 * drops cached callers, before the listeners: a listener that authenticates again must not get an
 * outdated caller.
 */
export function subscribeToAuthEvents(bus: Bus, onAnyEvent: () => void): AuthEvents {
  const listeners = createListeners<Event | null>();
  const subscription = onEvents(bus, ['evt.auth.>'], (message) => {
    onAnyEvent();
    const parsedEvent = readTolerantly(event, message?.body);
    listeners.notify(parsedEvent.success ? parsedEvent.data : null);
  });
  return {
    subscribe: (listener) => listeners.subscribe(listener),
    [Symbol.dispose]() {
      listeners[Symbol.dispose]();
      subscription[Symbol.dispose]();
    },
  };
}
