import type { NatsConnection, PublishOptions } from '@nats-io/transport-node';

interface Message {
  readonly subject: string;
  readonly body: string;
  readonly options?: PublishOptions;
  /** Called when the message cannot even be handed to the connection. */
  readonly onFailure: (failure: Error) => void;
}

export interface Outbox {
  send(message: Message): void;
  /** Hands over what waits; for before the connection drains. */
  flush(): void;
}

/**
 * Hands the messages of one turn of the event loop to the connection together: one write to its
 * socket, and one read at the server, however many calls are in hand. A message alone leaves in
 * the same turn.
 */
export function openOutbox(nats: NatsConnection): Outbox {
  let waiting: Message[] = [];
  const flush = () => {
    const leaving = waiting;
    waiting = [];
    for (const { subject, body, options, onFailure } of leaving) {
      try {
        nats.publish(subject, body, options);
      } catch (thrown) {
        onFailure(thrown as Error);
      }
    }
  };
  return {
    send(message) {
      if (waiting.push(message) === 1) setImmediate(flush);
    },
    flush,
  };
}
