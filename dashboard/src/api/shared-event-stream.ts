import type { EventType } from '#contracts/event-types';
import { openEventStream } from './event-stream.ts';
import type { StreamHandlers, StreamState } from './event-stream.ts';

/**
 * A message between tabs: `state` and `event` come from the tab that has the stream; any tab sends
 * `ask` to get the state.
 */
type Message =
  | { readonly kind: 'ask' }
  | { readonly kind: 'state'; readonly state: StreamState }
  | { readonly kind: 'event'; readonly type: EventType; readonly data: unknown };

/** How long a tab may take to answer until the browser is assumed to have suspended it. */
const tabAnswerMsMax = 2_000;

/**
 * Listens to one event stream for all tabs of a person. Over HTTP/1.1 a browser opens at most six
 * connections to a host for all tabs together. If each tab had a stream, the seventh tab would not
 * load. One tab holds a lock and the stream, and passes the events on. When that tab is closed, the
 * next tab takes over. A tab that becomes visible takes the stream from a suspended tab. If the
 * browser has no locks (for example over plain http to another machine), each tab has its own
 * stream.
 */
export function openSharedEventStream(personId: string, handlers: StreamHandlers): Disposable {
  const locks = (navigator as { readonly locks?: LockManager }).locks;
  if (locks === undefined) return openEventStream(handlers);
  const name = `gateway-events-${personId}`;
  const channel = new BroadcastChannel(name);
  const ended = new AbortController();
  let ownStream: Disposable | undefined;
  let state: StreamState = 'connecting';
  let askTimer: ReturnType<typeof setTimeout> | undefined;

  const tell = (message: Message) => {
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a channel only reaches its own origin
    channel.postMessage(message);
  };
  const apply = (message: Message) => {
    if (message.kind === 'event') handlers.onEvent(message.type, message.data);
    if (message.kind !== 'state' || message.state === state) return;
    state = message.state;
    handlers.onState(state);
    if (state === 'live') handlers.onOpen();
  };
  const applyAndTell = (message: Message) => {
    apply(message);
    tell(message);
  };

  const holdStream = () =>
    new Promise<void>((resolve) => {
      if (ended.signal.aborted) return resolve();
      ended.signal.addEventListener('abort', () => resolve());
      ownStream = openEventStream({
        onState: (next) => applyAndTell({ kind: 'state', state: next }),
        onOpen: () => {},
        onEvent: (type, data) => applyAndTell({ kind: 'event', type, data }),
      });
    });
  const takeLock = async (options: LockOptions): Promise<void> => {
    try {
      await locks.request(name, options, holdStream);
    } catch (error) {
      // Another tab took the lock, or this tab no longer waits for it. Any other error would come
      // again at once, so after it this tab uses its own stream.
      const isOrdinary = error instanceof DOMException && error.name === 'AbortError';
      if (!isOrdinary) await holdStream();
    }
    ownStream?.[Symbol.dispose]();
    ownStream = undefined;
  };
  const waitForLock = async (): Promise<void> => {
    while (!ended.signal.aborted) await takeLock({ signal: ended.signal });
  };
  const ask = () => {
    if (document.visibilityState !== 'visible' || ownStream !== undefined) return;
    clearTimeout(askTimer);
    askTimer = setTimeout(() => {
      if (ownStream === undefined && document.visibilityState === 'visible')
        void takeLock({ steal: true });
    }, tabAnswerMsMax);
    tell({ kind: 'ask' });
  };

  channel.addEventListener('message', ({ data }: MessageEvent<Message>) => {
    if (data.kind === 'ask') {
      if (ownStream !== undefined) tell({ kind: 'state', state });
      return;
    }
    clearTimeout(askTimer);
    apply(data);
  });
  handlers.onState(state);
  document.addEventListener('visibilitychange', ask, { signal: ended.signal });
  void waitForLock();
  ask();
  return {
    [Symbol.dispose]() {
      clearTimeout(askTimer);
      ended.abort();
      ownStream?.[Symbol.dispose]();
      channel.close();
    },
  };
}
