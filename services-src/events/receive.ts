import type { Consumer, ConsumerMessages, JsMsg } from '@nats-io/jetstream';
import { setTimeout as delay } from 'node:timers/promises';

import type { Bus } from '#bus';

interface ReceiverOptions {
  readonly bus: Bus;
  /** Handles and acknowledges a batch of messages. Does not reject. */
  readonly process: (batch: JsMsg[]) => Promise<void>;
  /**
   * How long messages may wait in the stream, so that they are delivered together; 0 delivers each
   * at once.
   */
  readonly lingerMs: number;
}

export interface Receiver {
  /**
   * Receives messages until `stop` is called or the server ends the delivery. Rejects on any other
   * failure. Receives nothing after `stop`.
   */
  readonly receive: (consumer: Consumer) => Promise<void>;
  readonly stop: () => Promise<void>;
}

const batchMessagesMax = 256;
/**
 * The most bytes of messages that are handled together, unless a single message is larger. The
 * limit exists because handling messages takes many times their size in memory.
 */
const batchBytesMax = 4 * 1024 * 1024;
/** The size of the largest messages that publishers send, unless a single event is larger. */
const largeMessageBytes = 1_048_576;
/** How long a request for messages stays open at the server before it is repeated. */
const expiresMs = 5_000;
/**
 * The same after an ended delivery: shorter, because another replica may have got the remaining
 * messages, so that none come.
 */
const restExpiresMs = 1_000;

/** Receives the messages of a durable consumer in batches. */
export function openReceiver({ bus, process, lingerMs }: ReceiverOptions): Receiver {
  let isStopped = false;
  let messages: ConsumerMessages | undefined;
  /**
   * The size that the next messages are assumed to have: that of the largest message of the last
   * batch, but at least half of the assumption before. A batch of small messages says little about
   * the next one, and the first messages after an outage may all be large.
   */
  let assumedBytes = largeMessageBytes;

  const receiveEach = async (consumer: Consumer) => {
    if (isStopped) return;
    const batches = openBatches(process);
    // A callback is used instead of an iterator: messages in an iterator's buffer would stay
    // unhandled when the reader stops.
    let lastMessage: JsMsg | undefined;
    messages = await consumer.consume({
      max_messages: batchMessagesMax,
      callback: (message) => {
        batches.add(message);
        if (!endsDelivery(message)) return;
        lastMessage = message;
        void messages?.close();
      },
      // Without this option the client would search for a deleted consumer silently and for ever.
      abort_on_missing_resource: true,
    });
    if (isStopped) await messages.close();
    const failure = await messages.closed();
    await batches.idle();
    if (failure) throw failure;
    if (lastMessage !== undefined) await requestRest(bus, consumer, lastMessage);
  };
  const fetchInto = async (consumer: Consumer, batch: JsMsg[], messagesMax: number) => {
    const wantedCount = batch.length + messagesMax;
    let expires = expiresMs;
    while (batch.length < wantedCount && !isStopped) {
      messages = await consumer.fetch({ max_messages: wantedCount - batch.length, expires });
      let lastMessage: JsMsg | undefined;
      for await (const message of messages) {
        batch.push(message);
        if (endsDelivery(message)) {
          lastMessage = message;
          break;
        }
      }
      if (lastMessage === undefined) return;
      await requestRest(bus, consumer, lastMessage);
      expires = restExpiresMs;
    }
  };
  const receiveTogether = async (consumer: Consumer) => {
    while (!isStopped) {
      const batch: JsMsg[] = [];
      try {
        await fetchInto(consumer, batch, 1);
        const [first] = batch;
        if (first === undefined) continue;
        // A fetch can be limited by messages or by bytes, but not by both. So the number of
        // messages is chosen by the size that each is assumed to have.
        const fittingCount = Math.floor(batchBytesMax / Math.max(assumedBytes, first.data.length));
        const messagesMax = Math.min(batchMessagesMax, fittingCount) - 1;
        if (first.info.pending < messagesMax) await delay(lingerMs);
        // Fetches only the pending events, because a fetch for more would wait for further ones.
        const { num_pending: pending } = await consumer.info();
        if (pending > 0 && messagesMax > 0 && !isStopped)
          await fetchInto(consumer, batch, Math.min(pending, messagesMax));
      } finally {
        assumedBytes = Math.max(1, assumedBytes / 2, ...batch.map(({ data }) => data.length));
        // The batch is handled even when the fetch failed: otherwise the events that were already
        // received would be redelivered only after `ack_wait`.
        while (batch.length > 0) await process(takeBatch(batch));
      }
    }
  };

  return {
    receive: lingerMs === 0 ? receiveEach : receiveTogether,
    async stop() {
      isStopped = true;
      await messages?.close();
    },
  };
}

/**
 * Whether this message ends the delivery, so that no further message arrives for this request. The
 * request goes to another account, and an answer without headers and content is the last one that
 * NATS passes on from there (`response_type: stream` in nats.conf).
 */
function endsDelivery({ headers, data }: JsMsg): boolean {
  return headers === undefined && data.length === 0;
}

/**
 * Asks the server to deliver again the messages that it sent after the last one that arrived;
 * otherwise it would do so only after `ack_wait`. A message among them that another replica already
 * has is delivered twice.
 */
async function requestRest({ nats }: Bus, consumer: Consumer, lastMessage: JsMsg): Promise<void> {
  const { stream_name: stream, name, delivered } = await consumer.info();
  const end = Math.min(delivered.stream_seq, lastMessage.seq + batchMessagesMax);
  for (let sequence = lastMessage.seq + 1; sequence <= end; sequence += 1) {
    // The subject on which JetStream takes an acknowledgement. Only the sequence in the stream and
    // that of the consumer matter here; the number of deliveries, the time and the pending count
    // are dummies.
    const subject = `$JS.ACK.${stream}.${name}.1.${sequence}.${delivered.consumer_seq}.0.0`;
    nats.publish(subject, '-NAK');
  }
}

/**
 * Collects messages while a batch is being handled, so that many waiting events take few
 * transactions.
 */
function openBatches(process: ReceiverOptions['process']) {
  const waitingMessages: JsMsg[] = [];
  let pendingWork: Promise<void> | undefined;

  const handleBatches = async () => {
    while (waitingMessages.length > 0) {
      await process(takeBatch(waitingMessages));
    }
    pendingWork = undefined;
  };
  return {
    add: (message: JsMsg) => {
      waitingMessages.push(message);
      pendingWork ??= Promise.resolve().then(handleBatches);
    },
    /** Resolves when no batch is being handled. */
    idle: async () => pendingWork,
  };
}

/** Removes the messages that are handled together from the front of the list: at least one. */
function takeBatch(messages: JsMsg[]): JsMsg[] {
  let bytes = 0;
  const end = messages.findIndex(({ data }, index) => {
    bytes += data.length;
    return index === batchMessagesMax || (index > 0 && bytes > batchBytesMax);
  });
  return messages.splice(0, end === -1 ? messages.length : end);
}
