import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { Event } from '#contracts/events';
import { AppError } from '#errors';
import { createEvent } from '#events';
import type { Sink } from '../events/event-stream.ts';
import { createAgentPrincipal } from '../principals.testing.ts';
import { streamNotifications } from './notifications.ts';

const claims = {
  ...createAgentPrincipal(),
  credential: { ...createAgentPrincipal().credential, clientId: 'client-1' },
};
const caller = { principal: 'signed', claims };
const changedEvent = createEvent({
  type: 'mcp_connection.changed',
  orgId: claims.orgId,
  audience: [claims.identityId],
  data: { agent_id: claims.identityId, client_id: 'client-1' },
  audit: null,
});

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

function start({ authenticate = async () => caller } = {}) {
  const listeners = new Set<(event: Event | null) => void>();
  const authEvents = {
    subscribe(listener: (event: Event | null) => void) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    [Symbol.dispose]() {},
  };
  const written: string[] = [];
  const disconnectController = new AbortController();
  const sink = {
    write: (text: string) => written.push(text) > 0,
    writableLength: 0,
    writableNeedDrain: false as boolean,
    once: () => undefined,
    end: () => undefined,
    destroy: () => disconnectController.abort(),
  } satisfies Sink;
  const streamEnd = streamNotifications(authEvents, {
    sink,
    caller,
    authenticate,
    signal: disconnectController.signal,
  });
  return {
    sink,
    written,
    streaming: streamEnd,
    gone: disconnectController,
    listeners,
    notify: (event: Event | null) => {
      for (const listener of listeners) listener(event);
    },
  };
}

describe('the notification stream', () => {
  test('sends only one notification to a client that does not read, and ends at the next heartbeat', async () => {
    const stream = start();
    stream.notify(changedEvent);
    stream.sink.writableNeedDrain = true;
    for (let count = 0; count < 10_000; count += 1) stream.notify(changedEvent);
    expect(stream.written).toHaveLength(2);

    await vi.advanceTimersByTimeAsync(15_000);
    await stream.streaming;
    expect(stream.listeners.size).toBe(0);
  });

  test('also notifies the client when events of auth may have been missed', async () => {
    const stream = start();
    stream.notify(null);
    expect(stream.written.at(-1)).toContain('notifications/tools/list_changed');
    stream.gone.abort();
    await stream.streaming;
  });

  test('sends a heartbeat every 15 s, and ends within a minute after the credential expires', async () => {
    let isCredentialValid = true;
    const stream = start({
      authenticate: async () => {
        if (!isCredentialValid) throw new AppError('unauthenticated', 'No such credential.');
        return caller;
      },
    });
    await vi.advanceTimersByTimeAsync(45_000);
    expect(stream.written.filter((text) => text.startsWith(': heartbeat'))).toHaveLength(3);
    isCredentialValid = false;
    await vi.advanceTimersByTimeAsync(15_000);
    await stream.streaming;
  });

  test('stays open while auth is unavailable', async () => {
    const stream = start({
      authenticate: async () => {
        throw new AppError('unavailable', 'auth did not answer');
      },
    });
    await vi.advanceTimersByTimeAsync(120_000);
    expect(stream.listeners.size).toBe(2);
    stream.gone.abort();
    await stream.streaming;
  });
});
