import { jetstreamManager } from '@nats-io/jetstream';

import { storeApi } from '#bus';
import type { Bus } from '#bus';
import type { Database } from '#database';
import type { Reader } from '#events';
import { within } from '#process';
import { auditStream } from '../contracts/events.ts';
import type { Check } from './readiness.ts';

const queryMsMax = 2_000;
const roundTripMsMax = 2_000;
/** The most by which a component's clock may differ from Postgres's clock. */
const clockDifferenceMsMax = 1_000;
/** A stream that has less room than this refuses records of calls. */
const streamRoomBytesMin = 1_048_576;
/**
 * After a stream was full, it counts as having room again only when this fraction of its size is
 * free. With less, it would be full again soon, because the outboxes fill it while it is read.
 */
const roomAgainFraction = 0.2;

/**
 * Checks whether the component's database answers a query, and whether its clock agrees with
 * the component's.
 */
export function createDatabaseChecks(
  { probe }: Pick<Database, 'probe'>,
  now: () => number = Date.now,
): Check[] {
  const clock = createClockComparison(now);
  return [
    {
      name: 'database',
      isOwn: true,
      run: () => clock.compare(() => probe.readTime({ withinMs: queryMsMax })),
    },
    clock.check({ isOwn: true }),
  ];
}

interface ClockComparison {
  /** Asks for a time and compares our clock with it. Rejects when asking fails. */
  compare(askTime: () => Promise<number | undefined>): Promise<void>;
  /** A check that passes when the clocks agreed at the last comparison. */
  check(options: Pick<Check, 'isOwn'>): Check;
}

export function createClockComparison(now: () => number = Date.now): ClockComparison {
  let differenceMs = 0;
  let runningComparison: Promise<void> = Promise.resolve();
  const compare = async (askTime: () => Promise<number | undefined>) => {
    const askedAt = now();
    const time = await askTime();
    // The answer was read from the other clock between `askedAt` and now; only the part of the
    // difference that this delay cannot explain counts.
    if (time !== undefined) differenceMs = Math.max(0, askedAt - time, time - now());
  };
  return {
    compare: (askTime) => (runningComparison = compare(askTime)),
    check: ({ isOwn }) => ({
      name: 'clock',
      isOwn,
      async run() {
        // When asking for the time fails, the check that asks for it reports that, so this check
        // does not.
        await runningComparison.catch(() => undefined);
        if (differenceMs <= clockDifferenceMsMax) return;
        throw new Error(`The clock is wrong by ${Math.round(differenceMs)} ms.`);
      },
    }),
  };
}

/** Checks whether each of the component's connections to the NATS server makes a round trip. */
export function createBusCheck(...buses: readonly Bus[]): Check {
  return {
    name: 'bus',
    isOwn: false,
    async run() {
      await within(roundTripMsMax, Promise.all(buses.map(({ nats }) => nats.flush())));
    },
  };
}

/** Checks whether the component's durable consumer exists and is read. */
export function createConsumerCheck(reader: Pick<Reader, 'state'>): Check {
  return {
    name: 'consumer',
    isOwn: false,
    async run() {
      if (reader.state() !== 'ok') throw new Error(`The durable consumer is ${reader.state()}.`);
    },
  };
}

/** Checks whether the stream AUDIT exists and has room, so that calls can be recorded. */
export function createAuditStreamCheck(bus: Bus): Check {
  const store = jetstreamManager(bus.nats, { checkAPI: false, apiPrefix: storeApi });
  let isFull = false;
  return {
    name: 'audit_stream',
    isOwn: false,
    async run() {
      const { state, config } = await within(
        roundTripMsMax,
        store.then(({ streams }) => streams.info(auditStream)),
      );
      const roomBytes = config.max_bytes > 0 ? config.max_bytes - state.bytes : Infinity;
      const roomAgainBytes = isFull ? config.max_bytes * roomAgainFraction : 0;
      isFull = roomBytes < Math.max(streamRoomBytesMin, roomAgainBytes);
      if (isFull) throw new Error('The stream AUDIT is full.');
    },
  };
}
