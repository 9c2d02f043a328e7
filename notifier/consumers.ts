import type { Event } from '#contracts/events';
import type { Deps } from './deps.ts';
import { recordEvents } from './feed/record-events.ts';

export function createConsumer(deps: Deps): (events: Event[]) => Promise<void> {
  return (events) => recordEvents(deps, events);
}
