import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';

import type { Event } from '#contracts/events';
import { AppError } from '#errors';
import { createEvent } from '#events';
import type { Sink } from '../event-stream.ts';
import { agent } from '../principals.testing.ts';
import { streamNotifications } from './notifications.ts';

const claims = { ...agent(), credential: { ...agent().credential, clientId: 'client-1' } };
const caller = { principal: 'signed', claims };
const changed = createEvent({
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
  const news = {
    subscribe(listener: (event: Event | null) => void) {
      listeners.add(listener);
      return { [Symbol.dispose]: () => void listeners.delete(listener) };
    },
    [Symbol.dispose]() {},
  };
  const written: string[] = [];
  const gone = new AbortController();
  const sink = {
    write: (text: string) => written.push(text) > 0,
    writableLength: 0,
    writableNeedDrain: false as boolean,
    once: () => undefined,
    end: () => undefined,
    destroy: () => gone.abort(),
  } satisfies Sink;
  const streaming = streamNotifications(news, { sink, caller, authenticate, signal: gone.signal });
  return {
    sink,
    written,
    streaming,
    gone,
    listeners,
    tell: (event: Event | null) => {
      for (const listener of listeners) listener(event);
    },
  };
}

describe('the notifications of a connection', () => {
  test('say once what a reader that does not read has not read yet, and end with the next heartbeat', async () => {
    const stream = start();
    stream.tell(changed);
    stream.sink.writableNeedDrain = true;
    for (let count = 0; count < 10_000; count += 1) stream.tell(changed);
    expect(stream.written).toHaveLength(2);

    await vi.advanceTimersByTimeAsync(15_000);
    await stream.streaming;
    expect(stream.listeners.size).toBe(0);
  });

  test('come also when some may have been missed', async () => {
    const stream = start();
    stream.tell(null);
    expect(stream.written.at(-1)).toContain('notifications/tools/list_changed');
    stream.gone.abort();
    await stream.streaming;
  });

  test('beat every 15 s and end within a minute of a credential that ended in silence', async () => {
    let isGood = true;
    const stream = start({
      authenticate: async () => {
        if (!isGood) throw new AppError('unauthenticated', 'No such credential.');
        return caller;
      },
    });
    await vi.advanceTimersByTimeAsync(45_000);
    expect(stream.written.filter((text) => text.startsWith(': heartbeat'))).toHaveLength(3);
    isGood = false;
    await vi.advanceTimersByTimeAsync(15_000);
    await stream.streaming;
  });

  test('survive an auth that does not answer', async () => {
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
