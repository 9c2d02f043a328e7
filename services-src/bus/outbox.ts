import type { NatsConnection, PublishOptions } from '@nats-io/transport-node';

interface Message {
  readonly subject: string;
  readonly body: string;
  readonly options?: PublishOptions;
  /** Called when the message cannot be passed to the NATS connection. */
  readonly onFailure: (failure: Error) => void;
}

export interface Outbox {
  send(message: Message): void;
  /** Publishes the waiting messages at once. Called before the connection drains. */
  flush(): void;
}

/**
 * Collects the messages that are published in one turn of the event loop, and passes them to the
 * NATS connection together. This way many concurrent calls cost one write to the socket and one
 * read at the server. A single message is sent in the same turn.
 */
export function openOutbox(nats: NatsConnection): Outbox {
  let waitingMessages: Message[] = [];
  const publishWaiting = () => {
    const messages = waitingMessages;
    waitingMessages = [];
    for (const { subject, body, options, onFailure } of messages) {
      try {
        nats.publish(subject, body, options);
      } catch (error) {
        onFailure(error as Error);
      }
    }
  };
  return {
    send(message) {
      if (waitingMessages.push(message) === 1) setImmediate(publishWaiting);
    },
    flush: publishWaiting,
  };
}
