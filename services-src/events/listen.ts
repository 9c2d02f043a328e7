import type { Bus } from '#bus';
import { belongsTo, eventType } from '../contracts/events.ts';

/**
 * Calls `listener` for every message of a plain subscription (no queue: every replica hears it),
 * with the subject and the parsed body (`null` for one that cannot be read, or whose event type is not
 * that of the subject), and with `null` when the bus reconnects, because
 * messages may have been missed: drop every cache then.
 */
export function onEvents(
  bus: Bus,
  subjects: readonly string[],
  listener: (message: { subject: string; body: unknown } | null) => void,
): Disposable {
  const subscriptions = subjects.map((subject) =>
    bus.nats.subscribe(subject, {
      callback: (failure, message) => {
        if (failure) return listener(null);
        const { subject } = message;
        listener({ subject, body: believed(subject, parse(message.string())) });
      },
    }),
  );
  let disposed = false;
  void (async () => {
    for await (const status of bus.nats.status()) {
      if (disposed) return;
      if (status.type === 'reconnect') listener(null);
    }
  })();
  return {
    [Symbol.dispose]() {
      disposed = true;
      for (const subscription of subscriptions) subscription.unsubscribe();
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null; // Listeners treat an unreadable body like an unknown event.
  }
}

/** NATS checks the subject; the body may hold any event, so its type is compared with the subject. */
function believed(subject: string, body: unknown): unknown {
  if (typeof body !== 'object' || body === null || !('type' in body)) return body;
  const type = eventType.safeParse(body.type);
  return !type.success || belongsTo(subject, type.data) ? body : null;
}
