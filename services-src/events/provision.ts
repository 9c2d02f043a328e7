import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';

import {
  AckPolicy,
  DeliverPolicy,
  DiscardPolicy,
  JetStreamApiCodes,
  JetStreamApiError,
  RetentionPolicy,
  StorageType,
  jetstreamManager,
} from '@nats-io/jetstream';
import type { JetStreamManager, StreamInfo } from '@nats-io/jetstream';
import { errors } from '@nats-io/transport-node';

import type { Bus } from '#bus';
import {
  auditStream,
  durableConsumers,
  eventsStream,
  streamSubjects,
} from '../contracts/events.ts';
import type { StreamName } from '../contracts/events.ts';
import { moveUnreadRecords } from './move-records.ts';
import { incarnationKey } from './repeat-lost.ts';

export interface StreamSettings {
  /**
   * How many copies of each stream a cluster keeps; undefined leaves an existing stream as it is.
   */
  readonly replicas: number | undefined;
  readonly auditBytesMax: number;
  readonly eventsBytesMax: number;
}

const nanosecondsPerSecond = 1_000_000_000;
/**
 * The time to wait for an answer of the server. In a cluster, a request that arrives while a stream
 * elects its leader is never answered, so it is made again.
 */
const answerTimeoutMs = 3_000;
const attemptsMax = 10;
const retryPauseMs = 1_000;
/** The server's error code for `no suitable peers for placement`. */
const noPeersCode = 10_005;
const missingCodes: readonly number[] = [
  JetStreamApiCodes.ConsumerNotFound,
  JetStreamApiCodes.StreamNotFound,
];

/**
 * Creates or updates the two streams and their durable consumers. Only the migration does this, as
 * the NATS user `provision`, so that no component needs `$JS.API.>`. A cluster that is still forming
 * gets a moment to do so: its leader cannot place copies on servers that have not joined yet.
 */
export async function provisionStreams(bus: Bus, settings: StreamSettings): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await provisionOnce(bus, settings);
    } catch (error) {
      if (!isTransientError(error) || attempt === attemptsMax) throw error;
      await delay(retryPauseMs);
    }
  }
}

const isTransientError = (error: unknown): boolean =>
  error instanceof errors.TimeoutError ||
  (error instanceof JetStreamApiError && error.code === noPeersCode);

async function provisionOnce(bus: Bus, settings: StreamSettings): Promise<void> {
  const manager = await jetstreamManager(bus.nats, { timeout: answerTimeoutMs });
  const earlierStream = await findStream(manager, eventsStream);
  const isSingleStream = earlierStream?.config.subjects.includes(streamSubjects.AUDIT) === true;
  // NATS does not let two streams have one subject, so the earlier stream gives up those of AUDIT.
  if (isSingleStream)
    await manager.streams.update(eventsStream, { subjects: [streamSubjects.EVENTS] });

  try {
    await provisionAuditStream(manager, settings);
  } catch (error) {
    // The earlier version may still be running. It needs these subjects until migrate succeeds.
    if (isSingleStream)
      await manager.streams.update(eventsStream, earlierStream.config).catch(() => undefined);
    throw error;
  }
  if (earlierStream !== undefined && earlierStream.config.retention !== RetentionPolicy.Interest) {
    await moveUnreadRecords(bus, manager);
    await manager.streams.delete(eventsStream);
  }
  await provisionEventsStream(manager, settings);
}

async function provisionAuditStream(
  manager: JetStreamManager,
  settings: StreamSettings,
): Promise<void> {
  const config = configOf(auditStream, settings);
  if ((await findStream(manager, auditStream)) !== undefined) {
    await manager.streams.update(auditStream, config);
  } else {
    await manager.streams.add({
      name: auditStream,
      storage: StorageType.File,
      retention: RetentionPolicy.Workqueue,
      ...config,
      metadata: { [incarnationKey]: randomUUID() },
    });
  }
  await addConsumers(manager, auditStream);
}

/**
 * The stream EVENTS keeps only messages that one of its consumers still has to read. So a new
 * stream takes no message before all its consumers exist. A stream that has lost a consumer is
 * deleted and created again: the outboxes then publish to it again, which includes what that
 * consumer may have missed.
 */
async function provisionEventsStream(
  manager: JetStreamManager,
  settings: StreamSettings,
): Promise<void> {
  const config = configOf(eventsStream, settings);
  let isStreamPresent = (await findStream(manager, eventsStream)) !== undefined;
  if (isStreamPresent && !(await hasConsumers(manager, eventsStream))) {
    await manager.streams.delete(eventsStream);
    isStreamPresent = false;
  }
  if (!isStreamPresent) {
    await manager.streams.add({
      name: eventsStream,
      storage: StorageType.File,
      retention: RetentionPolicy.Interest,
      ...config,
      metadata: { [incarnationKey]: randomUUID() },
      max_msg_size: closedMessageBytes,
    });
  }
  await addConsumers(manager, eventsStream);
  await manager.streams.update(eventsStream, { ...config, max_msg_size: -1 });
}

/** Every event is larger, so a stream with this limit accepts none. */
const closedMessageBytes = 1;

function configOf(stream: StreamName, settings: StreamSettings) {
  const { replicas, auditBytesMax, eventsBytesMax } = settings;
  return {
    subjects: [streamSubjects[stream]],
    max_age: 0,
    max_bytes: stream === auditStream ? auditBytesMax : eventsBytesMax,
    duplicate_window: 120 * nanosecondsPerSecond,
    discard: DiscardPolicy.New,
    ...(replicas === undefined ? {} : { num_replicas: replicas }),
  };
}

const consumersOf = (stream: StreamName) =>
  Object.entries(durableConsumers).filter(([, consumer]) => consumer.stream === stream);

async function addConsumers(manager: JetStreamManager, stream: StreamName): Promise<void> {
  for (const [durable, { filter }] of consumersOf(stream)) {
    await manager.consumers.add(stream, {
      durable_name: durable,
      filter_subject: filter,
      ack_policy: AckPolicy.Explicit,
      deliver_policy: DeliverPolicy.All,
      ack_wait: 30 * nanosecondsPerSecond,
      max_ack_pending: 2_000,
      max_deliver: -1,
    });
  }
}

async function hasConsumers(manager: JetStreamManager, stream: StreamName): Promise<boolean> {
  for (const [durable] of consumersOf(stream)) {
    const foundConsumer = await manager.consumers.info(stream, durable).catch(undefinedIfMissing);
    if (foundConsumer === undefined) return false;
  }
  return true;
}

function findStream(
  manager: JetStreamManager,
  stream: StreamName,
): Promise<StreamInfo | undefined> {
  return manager.streams.info(stream).catch(undefinedIfMissing);
}

function undefinedIfMissing(error: unknown): undefined {
  if (error instanceof JetStreamApiError && missingCodes.includes(error.code)) return undefined;
  throw error;
}
