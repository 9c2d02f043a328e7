import type { Bus } from '#bus';
import { consumeEvents } from '#events';
import type { Reader } from '#events';
import type { Deps } from './deps.ts';
import { recordEvents } from './usecases/record-events.ts';

/** Every event of every component, each acknowledged once its record is stored. */
export function startConsumers(deps: Deps, bus: Bus): Reader {
  return consumeEvents({
    // Nobody waits for a record to be readable; a transaction for each would cost more than the call.
    lingerMs: 100,
    bus,
    durable: 'audit',
    recordsRefusals: true,
    handle: (events) => recordEvents(deps, events),
    logger: deps.logger,
  });
}
