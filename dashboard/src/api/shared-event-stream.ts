import type { EventType } from '#contracts/event-types';
import { openEventStream } from './event-stream.ts';
import type { StreamHandlers, StreamState } from './event-stream.ts';

/** What the tab with the stream tells the others, and what a tab asks. */
type Message =
  | { readonly kind: 'ask' }
  | { readonly kind: 'state'; readonly state: StreamState }
  | { readonly kind: 'event'; readonly type: EventType; readonly data: unknown };

/** How long a tab may take to answer before it counts as suspended by the browser. */
const answerMs = 2_000;

/**
 * Listens to one event stream for all tabs of a person. Over HTTP/1.1 a browser opens six
 * connections to a host for all tabs together, so with a stream in each tab the seventh would not
 * load. One tab holds a lock and the stream and passes on what comes; when it is closed, the next
 * one takes over. A tab that becomes visible takes the stream from a tab that is suspended. Where the
 * browser has no locks, as over http to another machine, each tab has a stream of its own.
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
    // eslint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches its own origin alone
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
      // Another tab took the lock, or the wait for it ended. Any other error would come again at
      // once, so this tab then has a stream of its own.
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
    }, answerMs);
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
