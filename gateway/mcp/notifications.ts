import type { ServerEventBus } from '@modelcontextprotocol/server';

import type { Event } from '#contracts/events';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { AuthEvents } from '../events/auth-events.ts';
import type { Caller } from '../authentication/caller.ts';
import type { Sink } from '../events/event-stream.ts';

interface NotificationReader {
  readonly sink: Sink;
  readonly caller: Caller;
  readonly authenticate: () => Promise<Caller>;
  readonly signal: AbortSignal;
}

const heartbeatEveryMs = 15_000;
const recheckEveryMs = 60_000;

const listChanged = `event: message\ndata: ${JSON.stringify({
  jsonrpc: '2.0',
  method: 'notifications/tools/list_changed',
})}\n\n`;

/**
 * Serves `GET /mcp`: notifies the client when its list of tools has changed. Ends when the client
 * disconnects, its credential is revoked or the gateway stops.
 */
export async function streamNotifications(
  authEvents: AuthEvents,
  reader: NotificationReader,
): Promise<void> {
  const { sink, caller, signal } = reader;
  using credentialWatch = watchCredential(authEvents, reader);
  using _changes = onToolsChanged(authEvents, caller.claims, () => {
    // If the buffer is full, an identical notification is in it that the client has not read yet. A
    // second one is not needed.
    if (!sink.writableNeedDrain) sink.write(listChanged);
  });
  const heartbeat = setInterval(() => {
    // A client that has not emptied its buffer since the last heartbeat, 15 seconds ago, is
    // considered gone.
    if (sink.writableNeedDrain) sink.destroy();
    else sink.write(': heartbeat\n\n');
  }, heartbeatEveryMs);
  try {
    sink.write(': open\n\n');
    await waitUntilAborted(AbortSignal.any([signal, credentialWatch.lost]));
  } finally {
    clearInterval(heartbeat);
    sink.end();
  }
}

/**
 * Provides the same notifications as `GET /mcp` for `subscriptions/listen` of the stateless
 * revision. The SDK writes that stream.
 */
export function createToolChangeBus(authEvents: AuthEvents, { claims }: Caller): ServerEventBus {
  return {
    publish() {},
    subscribe(listener) {
      const subscription = onToolsChanged(authEvents, claims, () =>
        listener({ kind: 'tools_list_changed' }),
      );
      return () => subscription[Symbol.dispose]();
    },
  };
}

/**
 * Calls `notify` when the list of tools may have changed. Only the connection's self-approval
 * switch can change it.
 */
function onToolsChanged(authEvents: AuthEvents, claims: Principal, notify: () => void): Disposable {
  const { clientId } = claims.credential;
  return authEvents.subscribe((event) => {
    if (clientId === null) return;
    if (event === null || isOwnConnection(event, claims)) notify();
  });
}

function isOwnConnection({ type, org_id, data }: Event, claims: Principal): boolean {
  return (
    type === 'mcp_connection.changed' &&
    org_id === claims.orgId &&
    data['agent_id'] === claims.identityId &&
    data['client_id'] === claims.credential.clientId
  );
}

/**
 * Watches the caller's credential; `lost` aborts when the credential is no longer valid. The
 * credential is checked every minute, and after every event of auth that concerns the caller's
 * chain.
 */
export function watchCredential(
  authEvents: AuthEvents,
  { caller: { claims }, authenticate }: Pick<NotificationReader, 'caller' | 'authenticate'>,
): Disposable & { readonly lost: AbortSignal } {
  const disconnectController = new AbortController();
  const recheckCredential = async () => {
    try {
      await authenticate();
    } catch (error) {
      if (AppError.from(error).code !== 'unavailable') disconnectController.abort();
    }
  };
  const subscription = authEvents.subscribe((event) => {
    if (event === null || concernsCaller(event, claims)) void recheckCredential();
  });
  const timer = setInterval(() => void recheckCredential(), recheckEveryMs);
  return {
    lost: disconnectController.signal,
    [Symbol.dispose]() {
      clearInterval(timer);
      subscription[Symbol.dispose]();
    },
  };
}

/**
 * Whether an event concerns the caller's chain. An event without an audience may concern any
 * identity of its org.
 */
function concernsCaller({ org_id, audience }: Event, claims: Principal): boolean {
  if (org_id !== claims.orgId) return false;
  return audience.length === 0 || claims.chain.some(({ id }) => audience.includes(id));
}

function waitUntilAborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
