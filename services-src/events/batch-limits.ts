import type { Bus } from '#bus';
import type { GroupLimits } from '#process';

const batchEventsMax = 64;
/** The most bytes of a message with several events. A single larger event is sent alone. */
const batchBytesMax = 1_048_576;
/** Bytes of a NATS message that are not events: headers and the brackets of a list. */
const messageOverheadBytes = 1_024;

/** The most bytes of events that fit into one message, by the NATS server's limit. */
export function messageBytesMax({ nats }: Bus): number {
  return (nats.info?.max_payload ?? batchBytesMax) - messageOverheadBytes;
}

/** How many events of these sizes in bytes are sent in one message, as a JSON array. */
export function batchLimitsOf<T>(bus: Bus, bytesOf: (event: T) => number): GroupLimits<T> {
  return {
    sizeOf: (event) => bytesOf(event) + 1,
    sizeMax: () => Math.min(batchBytesMax, messageBytesMax(bus)),
    itemsMax: batchEventsMax,
  };
}
