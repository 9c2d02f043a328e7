import type { Bus } from '#bus';
import { consumeEvents } from '#events';
import type { Reader } from '#events';
import type { Deps } from './deps.ts';
import { recordEvents } from './records/record-events.ts';
import { keepUnreadable } from './unreadable/keep-unreadable.ts';

/**
 * Consumes every event of every component and acknowledges each event once its record is stored.
 */
export function startConsumers(deps: Deps, bus: Bus): Reader {
  return consumeEvents({
    // No caller waits until a record can be read, and one transaction per record would cost more
    // than the call it records.
    lingerMs: 100,
    bus,
    durable: 'audit',
    recordsRefusals: true,
    handle: (events) => recordEvents(deps, events),
    keepUnreadable: (events) => keepUnreadable(deps, events),
    logger: deps.logger,
  });
}
