import type { Bus } from '#bus';
import { event } from '#contracts/events';
import type { Event } from '#contracts/events';
import { onEvents } from '#events';

type Listener = (news: Event | null) => void;

export interface AuthEvents extends Disposable {
  /** Hears every event of auth from now on, of every org. `null`: some may have been missed, or one was not readable. */
  subscribe(listener: Listener): Disposable;
}

/**
 * Who lost a credential, or got another: one subscription for the whole gateway. `first` is told
 * before anybody else, so that whoever looks again does not look into an old cache.
 */
export function subscribeToAuthEvents(bus: Bus, first: () => void): AuthEvents {
  const listeners = new Set<Listener>();
  const listening = onEvents(bus, ['evt.auth.>'], (message) => {
    first();
    const parsed = message === null ? undefined : event.safeParse(message.body);
    for (const listener of listeners) listener(parsed?.data ?? null);
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
