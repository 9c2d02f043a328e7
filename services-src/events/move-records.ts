import { DeliverPolicy, jetstream } from '@nats-io/jetstream';
import type { JetStreamManager, JsMsg } from '@nats-io/jetstream';

import type { Bus } from '#bus';
import { eventsStream, streamSubjects } from '../contracts/events.ts';

const batchMessagesMax = 500;

/**
 * Copies the records that the audit log has not read yet from the single stream of an earlier
 * version to the stream AUDIT. Everything else in that stream is also in an outbox, which publishes
 * it again. A record that the audit log has already read may be copied too; the audit log then
 * recognises its id.
 */
export async function moveUnreadRecords(bus: Bus, manager: JetStreamManager): Promise<void> {
  const lastReadSequence = await manager.consumers.info(eventsStream, 'audit').then(
    (info) => info.ack_floor.stream_seq,
    () => 0,
  );
  const store = jetstream(bus.nats);
  const consumer = await store.consumers.get(eventsStream, {
    filter_subjects: streamSubjects.AUDIT,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: lastReadSequence + 1,
  });
  let { num_pending: pending } = await consumer.info();
  while (pending > 0) {
    const batch: JsMsg[] = [];
    const messagesMax = Math.min(pending, batchMessagesMax);
    for await (const message of await consumer.fetch({ max_messages: messagesMax }))
      batch.push(message);
    const lastMessage = batch.at(-1);
    if (lastMessage === undefined)
      throw new Error('The records in the earlier stream cannot be read.');
    await Promise.all(
      batch.map(({ subject, data, headers }) =>
        store.publish(subject, data, { msgID: headers?.get('Nats-Msg-Id') ?? '' }),
      ),
    );
    pending = lastMessage.info.pending;
  }
}
