import { jetstream } from '@nats-io/jetstream';

import type { Bus } from '#bus';
import { AppError } from '#errors';
import { eventSubject } from '../contracts/events.ts';
import type { Event } from '../contracts/events.ts';
import type { Component } from '../contracts/vocabulary.ts';

export interface Publisher {
  /** Resolves once JetStream has the event; throws `unavailable` otherwise. */
  publish(event: Event): Promise<void>;
}

/**
 * Publishes events straight to the stream, for what has no row of its own to commit with
 * (reads, refusals at the edge). Everything else goes through the outbox.
 */
export function openPublisher(bus: Bus, owner: Component): Publisher {
  const stream = jetstream(bus.nats, { timeout: 2_000 });
  return {
    async publish(event) {
      try {
        await stream.publish(eventSubject(owner, event.type), JSON.stringify(event), {
          msgID: event.id,
        });
      } catch (cause) {
        throw new AppError(
          'unavailable',
          'The event could not be recorded, so nothing more is done; try again shortly.',
          { cause },
        );
      }
    },
  };
}
