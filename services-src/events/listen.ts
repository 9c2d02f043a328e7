import type { Bus } from '#bus';
import { isAllowedSubject, eventType } from '../contracts/events.ts';

/**
 * Calls `listener` with the subject and the parsed body of every message of a plain subscription.
 * There is no queue group, so every replica gets every message. The body is `null` when it cannot
 * be parsed, or when its event type does not belong to the subject.
 *
 * When the bus reconnects, `listener` is called once with `null` in place of a message: messages
 * may have been missed, so every cache must be dropped.
 */
export function listenToEvents(
  bus: Bus,
  subjects: readonly string[],
  listener: (message: { subject: string; body: unknown } | null) => void,
): Disposable {
  const subscriptions = subjects.map((subject) =>
    bus.nats.subscribe(subject, {
      callback: (failure, message) => {
        if (failure) return listener(null);
        const { subject } = message;
        listener({ subject, body: nullUnlessOwned(subject, parseJson(message.string())) });
      },
    }),
  );
  let isDisposed = false;
  void (async () => {
    for await (const status of bus.nats.status()) {
      if (isDisposed) return;
      if (status.type === 'reconnect') listener(null);
    }
  })();
  return {
    [Symbol.dispose]() {
      isDisposed = true;
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // Listeners treat a body that is not JSON like an unknown event.
  }
}

/**
 * Returns null for an event whose type does not belong to the subject. NATS lets a component
 * publish only under its own subjects, so the subject identifies the sender; the body could name
 * any sender.
 */
function nullUnlessOwned(subject: string, body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('type' in body)) return body;
  const type = eventType.safeParse(body.type);
  return !type.success || isAllowedSubject(subject, type.data) ? body : null;
}
