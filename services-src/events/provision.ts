import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  StorageType,
  jetstreamManager,
} from '@nats-io/jetstream';

import type { Bus } from '#bus';
import { durableConsumers, eventsStream, streamSubjects } from '../contracts/events.ts';

const days = 24 * 60 * 60 * 1_000_000_000;

/**
 * Creates the stream and its durable consumers, or brings them up to date. Done once at
 * migration by the `provision` NATS user, so that no component needs `$JS.API.>`.
 */
export async function provisionStream(bus: Bus, { replicas }: { replicas: number }): Promise<void> {
  const manager = await jetstreamManager(bus.nats);
  const settings = {
    subjects: streamSubjects,
    max_age: 7 * days,
    max_bytes: 2 * 1024 * 1024 * 1024,
    duplicate_window: 120 * 1_000_000_000,
    discard: DiscardPolicy.New,
    num_replicas: replicas,
  };
  const exists = await manager.streams.info(eventsStream).then(
    () => true,
    () => false,
  );
  if (exists) await manager.streams.update(eventsStream, settings);
  else await manager.streams.add({ name: eventsStream, storage: StorageType.File, ...settings });

  for (const [durable, { filter }] of Object.entries(durableConsumers)) {
    await manager.consumers.add(eventsStream, {
      durable_name: durable,
      filter_subject: filter,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: 30 * 1_000_000_000,
      max_ack_pending: 2_000,
    });
  }
}
