/** What changes the pages of this dashboard. */
export const eventTypes = [
  'approval.raised',
  'approval.bubbled',
  'approval.resolved',
  'execution.finished',
] as const;
export type EventType = (typeof eventTypes)[number];

export type StreamState = 'connecting' | 'live' | 'lost';

interface StreamHandlers {
  /** Also called again after each loss: what was announced meanwhile may have been missed. */
  readonly onOpen: () => void;
  readonly onState: (state: StreamState) => void;
  readonly onEvent: (type: EventType, data: unknown) => void;
}

const retryMsMax = 15_000;

/**
 * Listens to `/v1/events` until disposed. The browser reconnects by itself and says where it
 * stood; only when it gives up (an answer that is no stream) is it started anew, ever more slowly.
 */
export function openEventStream(handlers: StreamHandlers): Disposable {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let failures = 0;

  const connect = () => {
    source = new EventSource(`/v1/events?types=${eventTypes.join(',')}`);
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
    for (const type of eventTypes) {
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

/** Reads `{id, type, created_at, org_id, data}` (docs/reference/events.md#events). */
function parseData(text: string): unknown {
  try {
    return (JSON.parse(text) as { data?: unknown }).data;
  } catch {
    return undefined; // Whatever it was, it is time to look again.
  }
}
