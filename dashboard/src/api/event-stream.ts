import { publicEventTypes } from '#contracts/event-types';
import type { EventType } from '#contracts/event-types';

export type StreamState = 'connecting' | 'live' | 'lost';

export interface StreamHandlers {
  /**
   * Called at each connection. After a lost connection it is called again, because events may have
   * been missed in between.
   */
  readonly onOpen: () => void;
  readonly onState: (state: StreamState) => void;
  readonly onEvent: (type: EventType, data: unknown) => void;
}

const retryMsMax = 15_000;

/**
 * Listens to `/v1/events` until disposed. The browser reconnects by itself and tells the gateway
 * the id of the last event. When the browser gives up (after an answer that is not a stream), this
 * function opens a new stream. It waits longer before each further attempt.
 */
export function openEventStream(handlers: StreamHandlers): Disposable {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;

  const connect = () => {
    source = new EventSource(`/v1/events?types=${publicEventTypes.join(',')}`);
    source.addEventListener('open', () => {
      failures = 0;
      handlers.onState('live');
      handlers.onOpen();
    });
    source.addEventListener('error', () => {
      handlers.onState('lost');
      if (source?.readyState !== EventSource.CLOSED) return;
      failures += 1;
      timer = setTimeout(connect, Math.min(retryMsMax, 1000 * 2 ** failures));
    });
    for (const type of publicEventTypes) {
      source.addEventListener(type, (event: MessageEvent<string>) => {
        handlers.onEvent(type, parseData(event.data));
      });
    }
  };

  handlers.onState('connecting');
  connect();
  return {
    [Symbol.dispose]() {
      clearTimeout(timer);
      source?.close();
    },
  };
}

/**
 * Parses the text of one event, `{id, type, created_at, org_id, data}`, and returns its `data`
 * (docs/reference/events.md#events).
 */
function parseData(text: string): unknown {
  try {
    return (JSON.parse(text) as { data?: unknown }).data;
  } catch {
    return undefined; // Even an unreadable event means that something has changed.
  }
}
