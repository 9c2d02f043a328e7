import type { ServerEventBus } from '@modelcontextprotocol/server';

import type { Event } from '#contracts/events';
import type { Principal } from '#contracts/vocabulary';
import { AppError } from '#errors';
import type { AuthEvents } from '../auth-events.ts';
import type { Caller } from '../authenticate.ts';
import type { Sink } from '../event-stream.ts';

interface Reader {
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
 * `GET /mcp`: tells the client when its list of tools has changed, until the client, its
 * credential or the gateway is gone.
 */
export async function streamNotifications(news: AuthEvents, reader: Reader): Promise<void> {
  const { sink, caller, signal } = reader;
  using access = watchAccess(news, reader);
  using _changes = onToolsChanged(news, caller.claims, () => {
    // What a slow reader has not read yet says the same.
    if (!sink.writableNeedDrain) sink.write(listChanged);
  });
  const heartbeat = setInterval(() => {
    // Whoever has read nothing for so long is not there.
    if (sink.writableNeedDrain) sink.destroy();
    else sink.write(': heartbeat\n\n');
  }, heartbeatEveryMs);
  try {
    sink.write(': open\n\n');
    await aborted(AbortSignal.any([signal, access.lost]));
  } finally {
    clearInterval(heartbeat);
    sink.end();
  }
}

/** The same for `subscriptions/listen` of the revision without sessions, whose stream the SDK writes. */
export function toolChangesFor(news: AuthEvents, { claims }: Caller): ServerEventBus {
  return {
    publish() {},
    subscribe(listener) {
      const subscription = onToolsChanged(news, claims, () =>
        listener({ kind: 'tools_list_changed' }),
      );
      return () => subscription[Symbol.dispose]();
    },
  };
}

/** Which tools there are depends on one thing that can change: the connection's self-approval switch. */
function onToolsChanged(news: AuthEvents, claims: Principal, tell: () => void): Disposable {
  const { clientId } = claims.credential;
  return news.subscribe((event) => {
    if (clientId === null) return;
    if (event === null || isOwnConnection(event, claims)) tell();
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

/** `lost` aborts when the credential no longer holds: asked each minute, and whenever auth changed something near the caller. */
export function watchAccess(
  news: AuthEvents,
  { caller: { claims }, authenticate }: Pick<Reader, 'caller' | 'authenticate'>,
): Disposable & { readonly lost: AbortSignal } {
  const lost = new AbortController();
  const recheck = async () => {
    try {
      await authenticate();
    } catch (thrown) {
      if (AppError.from(thrown).code !== 'unavailable') lost.abort();
    }
  };
  const subscription = news.subscribe((event) => {
    if (event === null || concerns(event, claims)) void recheck();
  });
  const timer = setInterval(() => void recheck(), recheckEveryMs);
  return {
    lost: lost.signal,
    [Symbol.dispose]() {
      clearInterval(timer);
      subscription[Symbol.dispose]();
    },
  };
}

/** Events name the identities they are about; one that names nobody may be about anybody of the org. */
function concerns({ org_id, audience }: Event, claims: Principal): boolean {
  if (org_id !== claims.orgId) return false;
  return audience.length === 0 || claims.chain.some(({ id }) => audience.includes(id));
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
